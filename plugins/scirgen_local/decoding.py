"""Chooses one row's next token: sampling with the row's own random generator, grammar constraints, stop strings.

A row is one request inside a batch. All random and mutable state belongs to a row, so a reply does not depend on the
other rows of its batch (beyond floating-point noise in the logits).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from scirgen import ChatReply, ChatRequest, ConfigError, Usage
from scirgen.llm.base import Schema
from scirgen.plugin import require

if TYPE_CHECKING:
    import torch


class Grammar:
    """Compiles schemas into matchers over one tokenizer (llguidance)."""

    def __init__(self, tokenizer: Any, eos: list[int]) -> None:
        with require("local", "constrained decoding"):
            import llguidance
            import llguidance.hf
        self._lib = llguidance
        self._tokenizer = llguidance.hf.from_tokenizer(tokenizer, eos_token=eos)
        self._compiled: dict[str, str] = {}

    def matcher(self, schema: Schema) -> Any:
        """Return a fresh matcher: a JSON value of the schema without white space between its parts, or a bare option of
        a choice.

        Raises:
            ConfigError: the schema uses a feature that the grammar compiler does not support.
        """
        key = json.dumps(schema, sort_keys=True)
        if key not in self._compiled:
            self._compiled[key] = self._compile(schema)
        matcher = self._lib.LLMatcher(self._tokenizer, self._compiled[key])
        if matcher.is_error():
            raise ConfigError(f"the reply's schema cannot be turned into a grammar: {matcher.get_error()}")
        return matcher

    def _compile(self, schema: Schema) -> str:
        options = schema.get("enum")
        if schema.get("type") == "string" and isinstance(options, list):
            alternatives = " | ".join(json.dumps(str(option), ensure_ascii=False) for option in options)
            return str(self._lib.LLMatcher.grammar_from_lark(f"start: {alternatives}"))
        # Weak models produce endless optional white space.
        return str(
            self._lib.LLMatcher.grammar_from_json_schema(json.dumps(schema), overrides={"whitespace_flexible": False})
        )


@dataclass
class Row:
    """One request while it is decoded.

    Attributes:
        tokens: the rendered prompt.
        matcher: the grammar's state, None for free text.
    """

    request: ChatRequest
    tokens: list[int]
    matcher: Any = None
    made: list[int] = field(default_factory=list)
    finish_reason: str | None = None
    text: str | None = None
    _generator: torch.Generator | None = None

    def allowed(self, vocabulary: int) -> np.ndarray[Any, np.dtype[np.bool_]] | None:
        """Return the tokens that the grammar allows next, as a mask of shape (vocabulary,); None for all."""
        if self.matcher is None:
            return None
        packed = np.frombuffer(self.matcher.compute_bitmask(), dtype=np.uint8)
        bits = np.unpackbits(packed, bitorder="little")[:vocabulary].astype(bool)
        return np.pad(bits, (0, vocabulary - len(bits)))

    def pick(self, logits: torch.Tensor) -> int:
        """Return the next token, from this row's logits (vocabulary,) in float32 on the CPU."""
        import torch

        sampling = self.request.sampling
        allowed = self.allowed(logits.shape[0])
        if allowed is not None:
            logits = logits.masked_fill(torch.from_numpy(~allowed), float("-inf"))
        if sampling.temperature <= 0:
            return int(logits.argmax())
        if self._generator is None:
            self._generator = torch.Generator().manual_seed(sampling.seed or 0)
        probabilities = torch.softmax(logits / sampling.temperature, dim=-1)
        if sampling.top_p < 1:
            ordered, index = probabilities.sort(descending=True)
            # The first token that takes the sum past top_p stays (nucleus sampling, Holtzman et al. 2020).
            ordered[(ordered.cumsum(0) - ordered) >= sampling.top_p] = 0.0
            return int(index[torch.multinomial(ordered, 1, generator=self._generator)])
        return int(torch.multinomial(probabilities, 1, generator=self._generator))

    def accept(self, token: int, eos: set[int], tokenizer: Any) -> None:
        """Add a token and check whether the row is finished."""
        if token in eos:
            self.finish_reason = "stop"
            return
        self.made.append(token)
        if self.matcher is not None:
            self.matcher.consume_token(token)
            if self.matcher.is_stopped():
                self.finish_reason = "stop"
                return
        stops = self.request.sampling.stop
        if stops:
            said = str(tokenizer.decode(self.made, skip_special_tokens=True))
            found = [at for at in (said.find(stop) for stop in stops) if at >= 0]
            if found:
                self.text = said[: min(found)]
                self.finish_reason = "stop"
                return
        if len(self.made) >= self.request.sampling.max_tokens:
            self.finish_reason = "length"

    def reply(self, tokenizer: Any) -> ChatReply:
        text = self.text if self.text is not None else str(tokenizer.decode(self.made, skip_special_tokens=True))
        return ChatReply(text, self.finish_reason or "length", Usage(len(self.tokens), len(self.made)))
