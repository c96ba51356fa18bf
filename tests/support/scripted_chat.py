"""A chat session that answers by a rule and remembers what it was asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TypeVar, Unpack

from pydantic import BaseModel, ValidationError

from scirgen.core.errors import ReplyInvalidError
from scirgen.core.prompts import RenderedPrompt
from scirgen.llm.base import Capabilities, ModelIdentity
from scirgen.llm.session import Answer, Asking, TextAnswer

T = TypeVar("T", bound=BaseModel)
Rule = Callable[[RenderedPrompt, int], object]


class ScriptedChat:
    """``rule(prompt, call number)`` gives a JSON-serialisable reply for ``ask``, a text or (text, finish_reason) for
    the others."""

    def __init__(self, rule: Rule, pack: str = "standard") -> None:
        self.rule = rule
        self.pack = pack
        self.identity = ModelIdentity("scripted", "chat", "1")
        self.capabilities = Capabilities(structured=True, context_tokens=8192)
        self.prompts: list[RenderedPrompt] = []
        self.rooms: list[int | None] = []
        """``max_tokens`` of each ``ask``."""

    def _reply(self, prompt: RenderedPrompt) -> object:
        self.prompts.append(prompt)
        return self.rule(prompt, len(self.prompts) - 1)

    async def ask(self, prompt: RenderedPrompt, reply: type[T], *, seed: int, **how: Unpack[Asking]) -> Answer[T]:
        raw = self._reply(prompt)
        self.rooms.append(how.get("max_tokens"))
        text = raw if isinstance(raw, str) else json.dumps(raw)
        try:
            return Answer(reply.model_validate_json(text), text, f"reply-{len(self.prompts)}")
        except ValidationError as error:
            raise ReplyInvalidError(f"{prompt.id}: {error}") from error

    async def ask_text(self, prompt: RenderedPrompt, *, seed: int, **how: Unpack[Asking]) -> TextAnswer:
        raw = self._reply(prompt)
        text, finish = raw if isinstance(raw, tuple) else (raw, "stop")
        return TextAnswer(str(text), f"reply-{len(self.prompts)}", str(finish))

    async def choose(self, prompt: RenderedPrompt, options: Sequence[str], *, seed: int) -> TextAnswer:
        text = str(self._reply(prompt))
        if text not in options:
            raise ReplyInvalidError(f"{prompt.id}: {text!r} is none of {list(options)}")
        return TextAnswer(text, f"reply-{len(self.prompts)}")
