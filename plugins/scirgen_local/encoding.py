"""Encodes a prompt and its continuation together, with the boundary where the tokenizer puts it.

Text inside messages and continuations is data and never becomes a control token of the model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from scirgen import ModelError, ScoreRequest
from scirgen.plugin import Message

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True)
class Encoded:
    """Token ids of prompt + continuation; the continuation's tokens are ``ids[first:]``."""

    ids: tuple[int, ...]
    first: int


class JointEncoder:
    """Encodes prompts, with or without what follows them. Not safe for concurrent use: tokenizers keep state."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._tokenizer: Any = tokenizer
        start = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
        self._start: int | None = start if isinstance(start, int) else None

    def encode(self, request: ScoreRequest) -> Encoded:
        """Encode prompt and continuation together.

        A token that overlaps the boundary belongs to the continuation. If nothing precedes the continuation, the
        model's begin-of-text token is used (or its end-of-text token if it has none).

        Raises:
            ModelError: an empty continuation, or chat messages for a model without a chat template.
        """
        if not request.continuation:
            raise ModelError("nothing to score: the continuation is empty", code="empty_continuation")
        if isinstance(request.prompt, str):
            ids, first = self._once(request.prompt + request.continuation, len(request.prompt), plain=True)
        elif not self._tokenizer.chat_template:
            raise ModelError(
                "the scorer has no chat template, so it cannot score chat messages",
                hint="Use an instruction-tuned model.",
                code="no_chat_template",
            )
        else:
            text = self._chat(request.prompt)
            ids, first = self._once(text + inert_text(self._tokenizer, request.continuation), len(text), plain=False)
        if first == 0:
            if self._start is None:
                raise ModelError(
                    "the prompt is empty and the model has no begin-of-text token", hint="Give it a prompt."
                )
            ids, first = [self._start, *ids], 1
        if first >= len(ids):
            raise ModelError("the continuation adds no token to the prompt", code="empty_continuation")
        return Encoded(tuple(ids), first)

    def encode_chat(self, messages: Sequence[Message]) -> list[int]:
        """Return the chat messages through the template, ready for the reply to follow; without one their contents,
        separated by blank lines.

        Raises:
            ModelError: the template refuses the messages.
        """
        if self._tokenizer.chat_template:
            text = self._chat(messages)
            return self._once(text, len(text), plain=False)[0]
        text = "\n\n".join(inert_text(self._tokenizer, m.content) for m in messages) + "\n\n"
        return list(self._tokenizer(text)["input_ids"])

    def pieces(self, ids: tuple[int, ...]) -> tuple[str, ...]:
        """Return the tokens as text, one by one (a character of several tokens shows as U+FFFD in each)."""
        return tuple(self._tokenizer.batch_decode([[i] for i in ids], clean_up_tokenization_spaces=False))

    def _chat(self, messages: Sequence[Message]) -> str:
        """Return the template's text. A template that refuses a system message gets it at the head of the first user
        message."""
        inert = [{"role": m.role, "content": inert_text(self._tokenizer, m.content)} for m in messages]
        tries = [inert]
        if inert[0]["role"] == "system" and len(inert) > 1:
            tries.append([{**inert[1], "content": f"{inert[0]['content']}\n\n{inert[1]['content']}"}, *inert[2:]])
        for tried in tries:
            try:
                return str(self._tokenizer.apply_chat_template(tried, tokenize=False, add_generation_prompt=True))
            except Exception as error:  # templates are programs: they raise whatever they like
                refused = error
        raise ModelError(
            f"the model's chat template refuses the messages: {refused}",
            hint="Use a model whose template takes a system and a user message.",
            code="chat_template",
        ) from refused

    def _once(self, text: str, boundary: int, *, plain: bool) -> tuple[list[int], int]:
        """Return the token ids, and where those past the boundary begin. In a plain text the names of control tokens
        are spelled out."""
        if not self._tokenizer.is_fast:
            return self._without_offsets(text, boundary, plain)
        encoded = self._tokenizer(
            text,
            add_special_tokens=plain,
            return_offsets_mapping=True,
            return_special_tokens_mask=True,
            split_special_tokens=plain and _control(self._tokenizer).search(text) is not None,
            verbose=False,
        )
        ids, offsets = list(encoded["input_ids"]), encoded["offset_mapping"]
        # Some tokenizers close a text with an end-of-text token (zero width): nothing could be read after it.
        while ids and plain and encoded["special_tokens_mask"][len(ids) - 1] and offsets[len(ids) - 1] == (0, 0):
            if len(ids) == 1:
                break
            ids.pop()
        first = next((i for i in range(len(ids)) if offsets[i][1] > boundary), len(ids))
        return ids, first

    def _without_offsets(self, text: str, boundary: int, add_special: bool) -> tuple[list[int], int]:
        """Encode without offsets: the boundary is where the encoding of the prompt alone differs."""
        whole = list(self._tokenizer.encode(text, add_special_tokens=add_special))
        alone = list(self._tokenizer.encode(text[:boundary], add_special_tokens=add_special))
        first = next((i for i, (a, b) in enumerate(zip(whole, alone, strict=False)) if a != b), len(alone))
        return whole, min(first, len(whole))


def inert_text(tokenizer: Any, text: str) -> str:
    """Return the text with a space inserted into everything that the tokenizer would read as a control token."""
    return _control(tokenizer).sub(lambda m: f"{m.group()[0]} {m.group()[1:]}", text)


@lru_cache(maxsize=16)
def _control(tokenizer: Any) -> re.Pattern[str]:
    names = {t.content for t in tokenizer.added_tokens_decoder.values() if t.special} | set(
        tokenizer.all_special_tokens
    )
    longest_first = sorted((n for n in names if len(n) > 1), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")
