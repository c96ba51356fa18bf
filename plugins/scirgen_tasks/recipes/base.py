"""The interface of query recipes, and the parts of a paper that they read. A plugin of kind ``query_recipe`` is a
`QueryRecipe` class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from scirgen import Paper, Rejection, Scope, StageContext, StageResult, WorkItem
from scirgen.core.text.textmatch import normalise
from scirgen.core.text.untrusted import talks_to_machine
from scirgen.plugin import Aspect, AspectCategory, Document, digest, made_of, sentence_spans
from scirgen_bench.tasks.taxonomies import facets_of, needs_of

STAGE = "query"
CONTRACT = ("name", "items(papers, scope, ctx)", "async write(item, ctx)")
"""The members that a plugin of kind ``query_recipe`` must have."""
_STATEMENTS = 12


@dataclass(frozen=True)
class PaperMaterial:
    """The parts of one paper that a recipe reads: its parsed text, its year, and the statements extracted from it, in
    document order."""

    document: Document
    aspects: tuple[Aspect, ...]
    year: int | None = None

    @property
    def paper_id(self) -> str:
        """The paper's id."""
        return self.document.paper_id

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The abstract's sentences, without those that address a language model."""
        text = " ".join(self.document.abstract.split())
        found = (text[start:end] for start, end in sentence_spans(text, self.document.language))
        return tuple(s for s in found if not talks_to_machine(s))

    @property
    def abstract(self) -> str:
        """The abstract, from those sentences."""
        return " ".join(self.sentences)

    def statements(self, *categories: AspectCategory) -> list[str]:
        """Return the statements of these kinds that are not in the abstract, each once, at most a dozen."""
        abstract = normalise(self.abstract)
        texts = (" ".join(a.span.text.split()) for a in self.aspects if a.category in categories)
        return [t for t in dict.fromkeys(texts) if normalise(t) not in abstract][:_STATEMENTS]


def paper_materials(item: WorkItem) -> list[PaperMaterial]:
    """Return the papers among an item's inputs, in the order of their documents."""
    years = {p.id: p.year for p in item.of(Paper)}
    aspects = item.of(Aspect)
    return [
        PaperMaterial(d, tuple(a for a in aspects if a.paper_id == d.paper_id), years.get(d.paper_id))
        for d in item.of(Document)
    ]


class QueryRecipe(ABC):
    """Makes queries of one kind. Stateless.

    Attributes:
        name: as in ``query.recipes``; also the task's name in a release.
        prompts: names of its prompts below ``prompts/query/``.
        taxonomies: names of the taxonomies that it reads.
    """

    name: ClassVar[str]
    prompts: ClassVar[tuple[str, ...]] = ()
    taxonomies: ClassVar[tuple[str, ...]] = ()

    def check(self, ctx: StageContext) -> None:
        """Read what the recipe's taxonomies define for the run's domain, before any paper costs a call.

        Raises:
            ResourceError: a taxonomy is damaged, or names something that it does not define.
        """
        for name in self.taxonomies:
            ctx.taxonomies.hash(name)
        if "facets" in self.taxonomies:
            facets_of(ctx.taxonomies)
        if "needs" in self.taxonomies:
            needs_of(ctx.taxonomies).of(ctx.config.domain)

    def items(self, papers: Sequence[PaperMaterial], scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        """Yield one item for each paper, with the key ``paper_id|recipe``, so that datasets with the same paper share
        the item."""
        for paper in papers:
            yield self.item((paper,), scope, ctx)

    def item(self, papers: Sequence[PaperMaterial], scope: Scope, ctx: StageContext) -> WorkItem:
        """Return the work item of one paper, or of several together."""
        ids = [p.paper_id for p in papers]
        records = {r.id: r for r in scope.outputs("collect", Paper) if r.id in ids}
        inputs = [*records.values(), *(x for p in papers for x in (p.document, *p.aspects))]
        return WorkItem(
            key=f"{'+'.join(ids)}|{self.name}",
            inputs=tuple(inputs),
            parameters={"recipe": self.name},
            salt=self.definitions(ctx),
        )

    def definitions(self, ctx: StageContext) -> str:
        """Return the hash of the recipe's code, prompts and taxonomies."""
        pack = ctx.chat_session.pack if ctx.chat_session else "standard"
        return digest(
            self.name,
            made_of(self),
            [ctx.prompts.get(f"{STAGE}/{name}", pack).hash for name in self.prompts],
            [ctx.taxonomies.hash(name) for name in self.taxonomies],
        )

    @abstractmethod
    async def write(self, item: WorkItem, ctx: StageContext) -> StageResult:
        """Return the queries of one item, and rejections of drafts that are not kept.

        Raises:
            ModelError: the model was needed and did not answer.
        """


def rejected(ctx: StageContext, code: str, reason: str, about: str, text: str = "") -> Rejection:
    """Return a draft that is not kept.

    Args:
        ctx: the item's context.
        code: the rejection code; docs/recipes.md lists them.
        reason: the same in words.
        about: identifies the draft within the item.
        text: the draft.
    """
    return ctx.reject(code, reason, ("Query", f"{ctx.key}|{about}"), record=text)
