"""Encoding a prompt and its continuation together, with the boundary where the tokenizer puts it.

Text inside messages and continuations is data: it can never become a control token of the model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from scirgen.core.errors import ModelError
from scirgen.llm.base import Message, ScoreRequest

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True)
class Encoded:
    """Token ids of prompt + continuation; the continuation's tokens are ``ids[first:]``."""

    ids: tuple[int, ...]
    first: int


class JointEncoder:
    """Encodes score requests with one tokenizer. Not safe for concurrent use: tokenizers keep state."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._tokenizer: Any = tokenizer
        special = sorted(
            {str(t) for t in tokenizer.added_tokens_decoder.values() if t.special} | set(tokenizer.all_special_tokens),
            key=lambda t: (-len(t), t),
        )
        self._special = re.compile("|".join(map(re.escape, special))) if special else None
        start = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
        self._start: int | None = start if isinstance(start, int) else None

    def encode(self, request: ScoreRequest) -> Encoded:
        """Encode prompt and continuation in one go.

        A token that overlaps the boundary belongs to the continuation. Where nothing precedes the continuation, the
        model's begin-of-text token does (its end-of-text token where it has none).

        Raises:
            ModelError: an empty continuation, or chat messages for a model without a chat template.
        """
        if not request.continuation:
            raise ModelError("there is nothing to score: the continuation is empty", code="empty_continuation")
        if isinstance(request.prompt, str):
            text, data, add_special = request.prompt, [(0, len(request.prompt))], True
        else:
            text, data = self._render(request.prompt)
            add_special = False
        boundary = len(text)
        text += request.continuation
        data.append((boundary, len(text)))
        ids, first = self._ids(text, boundary, data, add_special)
        if first == 0:
            if self._start is None:
                raise ModelError(
                    "the prompt is empty and the model has no begin-of-text token", hint="Give it a prompt."
                )
            ids, first = [self._start, *ids], 1
        if first >= len(ids):
            raise ModelError("the continuation has no token of its own", code="empty_continuation")
        return Encoded(tuple(ids), first)

    def encode_chat(self, messages: tuple[Message, ...]) -> tuple[int, ...]:
        """Chat messages through the template, ready for the reply to follow.

        Raises:
            ModelError: the model has no chat template, or it refuses the messages.
        """
        text, data = self._render(messages)
        return tuple(self._ids(text, len(text), data, False)[0])

    def pieces(self, ids: tuple[int, ...]) -> tuple[str, ...]:
        """The tokens as text, one by one (a character of several tokens shows as U+FFFD in each)."""
        return tuple(self._tokenizer.batch_decode([[i] for i in ids], clean_up_tokenization_spaces=False))

    def _render(self, messages: tuple[Message, ...]) -> tuple[str, list[tuple[int, int]]]:
        """The chat template's text, and where the messages' own text stands in it."""
        if not self._tokenizer.chat_template:
            raise ModelError(
                "the scorer has no chat template, so it cannot score chat messages",
                hint="Use the plain framing (filter.framing: plain), or an instruction-tuned model.",
                code="no_chat_template",
            )
        try:
            text = str(
                self._tokenizer.apply_chat_template(
                    [{"role": m.role, "content": m.content} for m in messages],
                    tokenize=False,
                    add_generation_prompt=True,
                )
            )
        except Exception as error:  # templates are programs: they raise whatever they like
            raise ModelError(
                f"the scorer's chat template refuses the messages: {error}",
                hint="Use the plain framing (filter.framing: plain).",
                code="chat_template",
            ) from error
        spans: list[tuple[int, int]] = []
        at = 0
        for message in messages:
            content = message.content if message.content in text[at:] else message.content.strip()
            found = text.find(content, at)
            if found < 0:
                raise ModelError("the scorer's chat template changes the text of messages", code="chat_template")
            spans.append((found, found + len(content)))
            at = found + len(content)
        return text, spans

    def _ids(self, text: str, boundary: int, data: list[tuple[int, int]], add_special: bool) -> tuple[list[int], int]:
        forged = [
            m.span()
            for m in (self._special.finditer(text) if self._special else ())
            if any(start < m.end() and m.start() < end for start, end in data)
        ]
        if forged:
            return self._piecewise(text, boundary, data, add_special)
        return self._once(text, boundary, add_special, data_only=False)

    def _once(self, text: str, boundary: int, add_special: bool, data_only: bool) -> tuple[list[int], int]:
        """Encode one text. ``data_only``: the names of control tokens are spelled out, not recognised."""
        if not self._tokenizer.is_fast:
            return self._without_offsets(text, boundary, add_special)
        encoded = self._tokenizer(
            text,
            add_special_tokens=add_special,
            return_offsets_mapping=True,
            return_special_tokens_mask=True,
            split_special_tokens=data_only,
            verbose=False,
        )
        ids, offsets = list(encoded["input_ids"]), encoded["offset_mapping"]
        # Some tokenizers close a text with an end-of-text token (zero width): nothing could be read after it.
        while ids and add_special and encoded["special_tokens_mask"][len(ids) - 1] and offsets[len(ids) - 1] == (0, 0):
            if len(ids) == 1:
                break
            ids.pop()
        first = next((i for i in range(len(ids)) if offsets[i][1] > boundary), len(ids))
        return ids, first

    def _without_offsets(self, text: str, boundary: int, add_special: bool) -> tuple[list[int], int]:
        """For tokenizers that do not say where a token stands: the boundary is where encoding the prompt alone differs."""
        whole = list(self._tokenizer.encode(text, add_special_tokens=add_special))
        alone = list(self._tokenizer.encode(text[:boundary], add_special_tokens=add_special))
        first = next((i for i, (a, b) in enumerate(zip(whole, alone, strict=False)) if a != b), len(alone))
        return whole, min(first, len(whole))

    def _piecewise(
        self, text: str, boundary: int, data: list[tuple[int, int]], add_special: bool
    ) -> tuple[list[int], int]:
        """Encode a text whose data name control tokens: cut at the template's own control tokens, as tokenizers do."""
        assert self._special is not None
        genuine = [m for m in self._special.finditer(text) if not any(s < m.end() and m.start() < e for s, e in data)]
        ids: list[int] = []
        first: int | None = None
        at = 0
        for match in [*genuine, None]:
            end = match.start() if match else len(text)
            if end > at:
                # Only the very first piece may get the tokenizer's begin-of-text token.
                part, cut = self._once(text[at:end], boundary - at, add_special and not ids, data_only=True)
                if first is None and boundary < end:
                    first = len(ids) + cut
                ids += part
            if match:
                ids.append(int(self._tokenizer.convert_tokens_to_ids(match.group())))
                at = match.end()
        return ids, len(ids) if first is None else first


def encode_chat(tokenizer: Any, messages: Sequence[Message]) -> list[int]:
    """Tokens of the messages under the tokenizer's chat template, with its generation prompt at the end.

    A template that refuses a system message gets it at the head of the first user message; a tokenizer without a template
    gets the contents, separated by blank lines.
    """
    inert = [{"role": m.role, "content": inert_text(tokenizer, m.content)} for m in messages]
    if not getattr(tokenizer, "chat_template", None):
        text = "\n\n".join(m["content"] for m in inert) + "\n\n"
        return list(tokenizer(text)["input_ids"])
    try:
        text = tokenizer.apply_chat_template(inert, tokenize=False, add_generation_prompt=True)
    except Exception:  # templates raise jinja2's errors for roles they do not know
        if inert[0]["role"] != "system" or len(inert) < 2:
            raise
        first = {"role": inert[1]["role"], "content": f"{inert[0]['content']}\n\n{inert[1]['content']}"}
        text = tokenizer.apply_chat_template([first, *inert[2:]], tokenize=False, add_generation_prompt=True)
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def inert_text(tokenizer: Any, text: str) -> str:
    """The text with a space put into whatever the tokenizer would read as one of its control tokens."""
    return _control(tokenizer).sub(lambda m: f"{m.group()[0]} {m.group()[1:]}", text)


@lru_cache(maxsize=16)
def _control(tokenizer: Any) -> re.Pattern[str]:
    names = {t.content for t in tokenizer.added_tokens_decoder.values() if t.special} | set(
        tokenizer.all_special_tokens
    )
    longest_first = sorted((n for n in names if len(n) > 1), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")
