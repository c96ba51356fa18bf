"""Tries a prompt on one dataset within seconds: renders it, calls the model, and shows which gates the pairs pass. It
stores only replies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TypeVar, Unpack

from pydantic import BaseModel

from scirgen import (
    Capabilities,
    Config,
    Dataset,
    Domain,
    InputError,
    ModelIdentity,
    Paper,
    QAPair,
    Record,
    Rejection,
    Stage,
    StageContext,
    WorkItem,
)
from scirgen.core.records import SectionLabel
from scirgen.core.text.shown import shown
from scirgen.llm.session import Answer, Asking, TextAnswer
from scirgen.pipeline.intake import open_input
from scirgen.pipeline.views.view import open_view
from scirgen.plugin import (
    Aspect,
    ChatSession,
    Document,
    Link,
    PromptLibrary,
    QuestionType,
    Registry,
    RenderedPrompt,
    ReplyInvalidError,
    Resources,
    Taxonomies,
    open_sessions,
)
from scirgen.stages.base import made_stage, suited
from scirgen.stages.collect.pages import iterate
from scirgen.stages.generate.joint import in_groups
from scirgen.stages.generate.stage import paper_parameters

R = TypeVar("R", bound=Record)
T = TypeVar("T", bound=BaseModel)

PROMPTS = {
    "ask/needs": ("joint", "standard"),
    "generate/joint": ("joint", "standard"), "generate/name": ("joint", "standard"),
    "generate/question": ("evidence", "small"), "generate/answer": ("evidence", "small"),
    "generate/types": ("evidence", "small"), "tag/bloom": ("auto", "standard"), "match/judge": ("auto", "standard"),
    "section/label": ("auto", "standard"), "extract/aspects": ("auto", "standard"), "verify/keep": ("auto", "standard"),
}  # fmt: skip
"""Prompt -> the generation strategy that renders it, and the pack."""


@dataclass
class Tried:
    """The result of a trial: accepted pairs, rejections by stage, and the prompts that were sent."""

    pairs: list[QAPair] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)
    prompts: list[RenderedPrompt] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)


_OF_PAPERS = ("match", "section", "extract", "verify")
"""Stages that read papers; their prompts are tried on the papers of a run."""

_KNOWN: tuple[tuple[str, tuple[type[Record], ...]], ...] = (
    ("collect", (Paper, Link)), ("parse", (Document,)), ("section", (SectionLabel,)), ("match", (Link,)),
    ("extract", (Aspect,)), ("verify", (Aspect,)), ("filter", (QAPair,)),
)  # fmt: skip


class _Scope:
    """All records for one dataset, by stage."""

    round = 0
    wanted = ()

    def __init__(self, dataset: Dataset, records: dict[str, list[Record]]) -> None:
        self.dataset = dataset
        self.records = records

    def users(self, paper_id: str) -> tuple[Dataset, ...]:
        return (self.dataset,)

    def outputs(self, stage: str, kind: type[R]) -> tuple[R, ...]:
        return tuple(r for r in self.records.get(stage, ()) if isinstance(r, kind))


async def find_dataset(
    id: str, *, config: Config, registry: Registry, domain: Domain, run: Path | None = None
) -> tuple[Dataset, dict[str, list[Record]]]:
    """Return a dataset by id (or the start of one), and its material; kept aspects only if a run is given.

    Raises:
        InputError: no dataset matches, or several do.
    """
    if run is not None:
        with open_view(run) as view:
            dataset = _only(view.datasets(), id)
            known: dict[str, list[Record]] = {
                stage: [r for kind in kinds for r in view.records(stage, kind, dataset.id)] for stage, kinds in _KNOWN
            }
            return dataset, known
    source = open_input(config, registry, domain, Path(".scirgen-try"))
    found = [d async for d in iterate(source.datasets, None) if isinstance(d, Dataset) and d.id.startswith(id)]
    return _only(found, id), {}


def _only(datasets: Iterable[Dataset], id: str) -> Dataset:
    found: list[Dataset] = []
    for dataset in datasets:
        if dataset.id == id:
            return dataset
        if dataset.id.startswith(id):
            found.append(dataset)
    if len(found) != 1:
        near = shown((d.id for d in found), 5)
        raise InputError(
            f"no dataset {id!r} found" if not found else f"{id!r} matches several datasets",
            hint=f"It could be: {near}" if near else "Ids are those of the input's records; see --input and --run.",
        )
    return found[0]


async def try_prompt(
    prompt: str,
    dataset: Dataset,
    known: dict[str, list[Record]],
    *,
    config: Config,
    registry: Registry,
    domain: Domain,
    count: int = 5,
    types: Sequence[str] = (),
    call: bool = True,
) -> Tried:
    """Run the stage that renders ``prompt`` over one dataset, ``count`` pairs, then the gates that need no model.

    Args:
        types: question types to write, in turn; empty for the first types of the prompt's strategy.
        call: False renders the first prompt and stops, for ``prompts render``.

    Raises:
        InputError: the prompt's stage cannot be tried alone.
    """
    base = prompt.removesuffix(".small")
    if base not in PROMPTS:
        raise InputError(
            f"prompts try does not support {prompt}",
            hint=f"Prompts that can: {', '.join(PROMPTS)}. For others, use prompts render.",
        )
    if base.partition("/")[0] in _OF_PAPERS and not known.get("parse"):
        raise InputError(
            f"{prompt} needs papers, and {dataset.id!r} has none",
            hint="Pass --run with a run that parsed its papers.",
        )
    strategy, pack = PROMPTS[base]
    if prompt.endswith(".small"):
        pack = "small"
    config = config.model_copy(
        update={
            "models": config.models.model_copy(update={"pack": pack}),
            "generate": config.generate.model_copy(
                update={"strategy": strategy, **({"mix": {"seeking": 1.0}} if base.startswith("ask/") else {})}
            ),
            "filter": config.filter.model_copy(update={"faithfulness": ()}),
        }
    )
    resources = Resources(domain, Path(config.overrides) if config.overrides else None)
    prompts = PromptLibrary(resources)
    async with AsyncExitStack() as closing:
        session = None
        if call:
            sessions = await open_sessions(config, registry, prompts=prompts, needs_scores=False)
            closing.push_async_callback(sessions.aclose)
            session = sessions.chat
        recorder = _Recorder(session, pack)
        ctx = StageContext(config, resources, prompts, Taxonomies(resources), registry, Path(), recorder)
        return await _run(base, _Scope(dataset, known), ctx, recorder, count, types)


async def _run(
    base: str, scope: _Scope, ctx: StageContext, recorder: _Recorder, count: int, types: Sequence[str]
) -> Tried:
    tried = Tried(prompts=recorder.prompts)
    if base == "tag/bloom":
        await _stage(suited(made_stage(ctx.registry, "tag"), ctx), scope, ctx, tried, keep=count)
        tried.pairs = list(scope.outputs("tag", QAPair))
        return tried
    stage = base.partition("/")[0]
    if stage in (*_OF_PAPERS, "ask"):
        scope.records.pop(stage, None)
        await _stage(suited(made_stage(ctx.registry, stage), ctx), scope, ctx, tried, most=count)
        tried.records = list(scope.records.get(stage, ()))
        return tried
    kinds = ctx.taxonomies.wanted_types(types, ctx.pack, ctx.config.language)
    if base == "generate/types":
        parameters: dict[str, object] = {"types": [k.id for k in kinds], "count": count, "adaptive": True}
        items = [WorkItem(f"{scope.dataset.id}|adaptive", (scope.dataset,), parameters)]
    else:
        aspects = scope.outputs("verify", Aspect)
        inputs, more = (scope.dataset, *aspects), paper_parameters(scope, aspects)
        items = [
            WorkItem(f"{scope.dataset.id}|{group[0].id}", inputs, {"types": [k.id for k in group], **counts, **more})
            for group, counts in _shares(kinds, count, bool(aspects), ctx.config.generate.types_per_call)
        ]
    generate = suited(made_stage(ctx.registry, "generate"), ctx)
    for item in items:
        result = await generate.process(item, ctx.at("generate", item.key, "try"))
        scope.records.setdefault("generate", []).extend(result.outputs)
        tried.rejections += result.rejections
    scope.records.pop("filter", None)
    await _stage(made_stage(ctx.registry, "filter"), scope, ctx, tried)
    tried.pairs = list(scope.outputs("filter", QAPair))
    return tried


def _shares(
    kinds: Sequence[QuestionType], count: int, papers: bool, together: int
) -> Iterator[tuple[Sequence[QuestionType], dict[str, object]]]:
    """Yield the groups of types, with their numbers of pairs about data and about papers; ``count`` pairs in all."""
    each, more = divmod(count, len(kinds))
    for wanted, part in ((each + 1, kinds[:more]), (each, kinds[more:])):
        about_data = wanted // 2 if papers else wanted
        for group in in_groups(part, together) if wanted else ():
            yield group, {"about_data": about_data, "count": wanted - about_data}


async def _stage(
    stage: Stage, scope: _Scope, ctx: StageContext, tried: Tried, keep: int | None = None, most: int | None = None
) -> None:
    if keep is not None:
        scope.records["filter"] = scope.records.get("filter", [])[:keep]
    for item in islice(stage.items(scope, ctx.at(stage.name, scope.dataset.id, "try")), most):
        result = await stage.process(item, ctx.at(stage.name, item.key, "try"))
        scope.records.setdefault(stage.name, []).extend(result.outputs)
        tried.rejections += result.rejections


class _Recorder:
    """A chat session that records the prompts. Without an underlying session, every reply is invalid."""

    def __init__(self, session: ChatSession | None, pack: str) -> None:
        self._session = session
        self.pack = pack
        self.prompts: list[RenderedPrompt] = []

    @property
    def identity(self) -> ModelIdentity:
        return self._session.identity if self._session else ModelIdentity("none", "none")

    @property
    def capabilities(self) -> Capabilities:
        return self._session.capabilities if self._session else Capabilities()

    def _asked(self, prompt: RenderedPrompt) -> ChatSession:
        self.prompts.append(prompt)
        if self._session is None:
            raise ReplyInvalidError("no model was called")
        return self._session

    async def ask(self, prompt: RenderedPrompt, reply: type[T], *, seed: int, **how: Unpack[Asking]) -> Answer[T]:
        return await self._asked(prompt).ask(prompt, reply, seed=seed, **how)

    async def ask_text(self, prompt: RenderedPrompt, *, seed: int, **how: Unpack[Asking]) -> TextAnswer:
        return await self._asked(prompt).ask_text(prompt, seed=seed, **how)

    async def choose(self, prompt: RenderedPrompt, options: Sequence[str], *, seed: int) -> TextAnswer:
        return await self._asked(prompt).choose(prompt, options, seed=seed)
