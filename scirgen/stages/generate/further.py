"""Plugins of kind ``further_request``: they add a request to the calls that write pairs, and make records of its
reply."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, Field, create_model

from scirgen.core.config import Config, fingerprinted
from scirgen.core.prompts import RenderedPrompt
from scirgen.core.registry import Registry, returned
from scirgen.core.registry.plugincode import made_of
from scirgen.stages.base import StageContext, StageResult, asked_for
from scirgen.stages.generate.strategy import Discard, Draft, Further, Task

M = TypeVar("M", bound=BaseModel)


class FurtherRequest(ABC):
    """A request at the end of the prompt of the strategy ``joint``, and a field of its reply. It is made if the
    settings name it in ``steps`` or have a section of its name.

    Attributes:
        name: the registered name, and the reply's field.
        prompt: id of the plugin's prompt file (``STAGE/NAME``), whose ``user`` text is added to the call's.
        reply: the field's type. Each of its own fields has a default, since a model may leave it out.
    """

    name: ClassVar[str]
    prompt: ClassVar[str]
    reply: ClassVar[type[BaseModel]]

    @abstractmethod
    def variables(self, max_pairs: int, turn: int, ctx: StageContext) -> Mapping[str, object] | None:
        """Return the prompt's variables for a call; None if the call gets no further request.

        Args:
            max_pairs: number of pairs that the call may write.
            turn: 0, or the number of the later round.
            ctx: the item's context.
        """

    @abstractmethod
    def tokens(self, max_pairs: int) -> int:
        """Estimate the tokens of the reply's field."""

    @abstractmethod
    def read(self, further: Further, task: Task, ctx: StageContext) -> StageResult:
        """Make records and rejections of a reply's field; they are outputs of stage ``generate``."""


def further_requests(config: Config, registry: Registry) -> list[FurtherRequest]:
    """Return the further requests that the settings ask for, by name.

    Raises:
        PluginError: what a plugin registered is not a `FurtherRequest` class.
    """
    return asked_for("further_request", FurtherRequest, config, registry)


def definitions(ctx: StageContext) -> list[object]:
    """List everything that the further requests' results depend on; empty without any."""
    return [
        (
            r.name,
            made_of(r),
            ctx.prompts.get(r.prompt, ctx.pack).hash,
            fingerprinted(ctx.config.section_of(r.name)),
        )
        for r in further_requests(ctx.config, ctx.registry)
    ]


def with_further(
    prompt: RenderedPrompt, reply: type[M], max_pairs: int, turn: int, ctx: StageContext
) -> tuple[RenderedPrompt, type[M], int]:
    """Return a call's prompt and reply with the further requests, and the tokens that they add to the reply."""
    texts: list[str] = []
    fields: dict[str, Any] = {}
    tokens = 0
    for request in further_requests(ctx.config, ctx.registry):
        variables = request.variables(max_pairs, turn, ctx)
        if variables is not None:
            texts.append(ctx.prompts.get(request.prompt, ctx.pack).render(**variables).messages[-1][1])
            fields[request.name] = (request.reply, Field(default_factory=request.reply))
            tokens += request.tokens(max_pairs)
    if not fields:
        return prompt, reply, 0
    role, content = prompt.messages[-1]
    messages = (*prompt.messages[:-1], (role, "\n\n".join([content, *texts])))
    return replace(prompt, messages=messages), create_model(reply.__name__, __base__=reply, **fields), tokens


def answered(
    value: BaseModel, written: Sequence[Draft | Discard], prompt: RenderedPrompt, key: str, ctx: StageContext
) -> list[Further]:
    """Return a reply's fields that further requests asked for, with the drafts of its pairs."""
    names = (request.name for request in further_requests(ctx.config, ctx.registry))
    return [Further(n, getattr(value, n), tuple(written), prompt, (key,)) for n in names if hasattr(value, n)]


def records(further: Further, task: Task, ctx: StageContext) -> StageResult:
    """Return the records that a plugin makes of its field.

    Raises:
        PluginError: it made something else.
    """
    chosen = {request.name: request for request in further_requests(ctx.config, ctx.registry)}
    request = chosen[further.name]
    return returned(request.read, request.read(further, task, ctx), StageResult, "a scirgen.StageResult")
