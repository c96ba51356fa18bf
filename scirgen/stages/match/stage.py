"""Stage 4: decides whether a candidate paper uses the dataset. See the match strategies for deciding.

A pair that is not used becomes a `Rejection` that holds the judged `Link`. Used links and rejections together are the
candidates whose paper could be read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from scirgen.core.config import Config
from scirgen.core.errors import PluginError
from scirgen.core.grouped import grouped
from scirgen.core.records import OWN, Dataset, Document, Link, SectionLabel
from scirgen.core.registry import Registry, known_needs, load_registry, returned
from scirgen.core.registry.plugincode import provided_code
from scirgen.stages.base import Role, Scope, Stage, StageContext, StageResult, Uses, WorkItem
from scirgen.stages.match.base import Judgement, MatchStrategy, Pair


class MatchStage(Stage):
    """One item is a dataset and a candidate paper that could be parsed."""

    name = "match"
    version = 6

    def uses(self, config: Config) -> Uses:
        """Include the model if the strategy calls it."""
        needs: tuple[Role, ...] = strategy(config.match.strategy, load_registry()).needs
        code = provided_code(load_registry(), "match_strategy", config.match.strategy)
        return Uses(config=("match",), prompts=("match/judge",) if needs else (), roles=needs, extra=code)

    def items(self, scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        """Yield one item for each candidate link of the dataset whose paper has a document."""
        documents = {d.paper_id: d for d in scope.outputs("parse", Document)}
        own = (x for x in scope.outputs("collect", Link) if x.dataset_id == scope.dataset.id)
        links = grouped((link.paper_id, link) for link in own if link.paper_id in documents)
        labels = scope.outputs("section", SectionLabel)
        for paper_id, found in links.items():
            of_paper = tuple(label for label in labels if label.paper_id == paper_id)
            yield WorkItem(found[0].id, inputs=(scope.dataset, documents[paper_id], *found, *of_paper))

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        links = item.of(Link)
        pair = Pair(item.one(Dataset), item.one(Document), item.of(SectionLabel), [link.found_by for link in links])
        name = ctx.config.match.strategy
        if OWN in pair.found_by:
            judgement = Judgement(True, "The record is made from this paper.")
        else:
            judge = strategy(name, ctx.registry).judge
            judgement = returned(judge, await judge(pair, ctx), Judgement, "a scirgen.Judgement")
        link = self._link(links[0], pair, judgement, name, ctx)
        if judgement.used:
            return StageResult(outputs=(link,))
        rejection = ctx.reject(judgement.code, judgement.explanation, link, provenance=link.provenance)
        return StageResult(rejections=(rejection,))

    @staticmethod
    def _link(candidate: Link, pair: Pair, judgement: Judgement, name: str, ctx: StageContext) -> Link:
        how = ", ".join(pair.found_by)
        provenance = ctx.provenance(replies=judgement.replies)
        if judgement.prompt:
            model = str(ctx.chat.identity)
            provenance = provenance.model_copy(update={"prompt": judgement.prompt, "model": model})
        return Link(
            dataset_id=candidate.dataset_id,
            paper_id=candidate.paper_id,
            found_by=how,
            used=judgement.used,
            explanation=f"{judgement.explanation} (Candidate found by: {how}.)",
            criteria=judgement.criteria,
            evidence=tuple(pair.document.span(p.start, p.end, p.section) for p in judgement.places),
            strategy=name,
            provenance=provenance,
        )


def strategy(name: str, registry: Registry) -> MatchStrategy:
    """Make the registered strategy of that name.

    Raises:
        PluginError: no strategy has that name, or the object is not a strategy.
    """
    made = registry.get("match_strategy", name)
    instance = made() if callable(made) else made
    if not hasattr(instance, "judge"):
        raise PluginError(f"match strategy {name!r} has no method judge", hint="See docs/profiles.md for the contract.")
    known_needs(instance, getattr(instance, "needs", ()), ("generator",))
    return cast(MatchStrategy, instance)
