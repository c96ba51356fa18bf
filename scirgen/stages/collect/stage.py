"""Stage 1: a page of a catalogue becomes datasets, papers and candidate links. How a source is read is left to `pages`."""

from __future__ import annotations

from collections.abc import Iterable

from scirgen.core.config import Config
from scirgen.core.records import AnyRecord, CataloguePage, Failure, Link, Paper
from scirgen.stages.base import Scope, Stage, StageContext, StageResult, Uses, WorkItem
from scirgen.stages.collect.open import open_source
from scirgen.stages.collect.pages import CollectedPage, page_key, pages
from scirgen.stages.collect.source import Source


class CollectStage(Stage):
    """One work item is a page of the catalogue: all datasets from a cursor to the next."""

    name = "collect"
    version = 1

    def uses(self, config: Config) -> Uses:
        """The collect section, but for the limit, which is part of a page's key."""
        return Uses(config=("collect",), extra=(config.domain,))

    def items(self, scope: Scope | None, ctx: StageContext) -> Iterable[WorkItem]:
        """The first page. The next ones become known as pages are read: `CataloguePage.next_cursor`."""
        source = open_source(ctx.config, ctx.registry, ctx.resources.domain, ctx.folder)
        return [page_item(source, None, ctx.config.collect.limit)]

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        """Read one page from the source."""
        cursor, limit = item.parameters.get("cursor"), item.parameters.get("limit")
        source = open_source(ctx.config, ctx.registry, ctx.resources.domain, ctx.folder)
        walk = pages(
            source,
            ctx.config.collect,
            cursor if isinstance(cursor, str) else None,
            limit=limit if isinstance(limit, int) else None,
        )
        try:
            async for page in walk:
                return page_result(page, ctx)
        finally:
            await walk.aclose()
        return StageResult()


def page_item(source: Source, cursor: str | None, limit: int | None = None) -> WorkItem:
    """The work item of the page at ``cursor``, when at most ``limit`` more datasets are wanted."""
    parameters: dict[str, object] = {"cursor": cursor, "revision": source.revision(cursor), "limit": limit}
    return WorkItem(page_key(cursor, limit), parameters=parameters)


def page_result(page: CollectedPage, ctx: StageContext) -> StageResult:
    """A page's records with their provenance; a paper that several datasets share comes once."""
    made_by = {"provenance": ctx.provenance()}
    papers: dict[str, Paper] = {}
    links: list[Link] = []
    outputs: list[AnyRecord] = []
    rejections = list(page.rejections)
    failures: list[Failure] = []
    for item in page.items:
        outputs.append(item.dataset.model_copy(update=made_by))
        papers.update({p.id: p.model_copy(update=made_by) for p in item.papers if p.id not in papers})
        links += [link.model_copy(update=made_by) for link in item.links]
        rejections += item.rejections
        failures += item.failures
    end = CataloguePage(
        key=page.key,
        revision=page.revision,
        next_cursor=page.cursor_next,
        datasets=len(page.items),
        provenance=ctx.provenance(),
    )
    return StageResult(
        outputs=(*outputs, *papers.values(), *links, end),
        rejections=tuple(r.model_copy(update=made_by) for r in rejections),
        failures=tuple(failures),
    )
