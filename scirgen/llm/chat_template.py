"""Rendering chat messages to tokens with a tokenizer's own template; untrusted text never becomes a control token."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from scirgen.llm.base import Message


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
