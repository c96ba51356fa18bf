"""Stage 10: writes all accepted pairs as one release folder. Splits need the whole run, so there is one work item."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import ClassVar

from scirgen.core.config import Config, ReleaseConfig
from scirgen.core.errors import ConfigError
from scirgen.core.fingerprint import digest, file_sha256
from scirgen.core.records import Rejection, ReleaseFile
from scirgen.llm.encoders.embeddings import model_of, open_embedder
from scirgen.qa.labels import LabelSet
from scirgen.qa.quota_progress import progress, rejection_codes
from scirgen.qa.quotas import select, shortfall
from scirgen.qa.release import Release, ReleaseInfo
from scirgen.qa.repeats.neardup import resolve
from scirgen.qa.reviews import read_reviews, reviewed_drafts, reviewed_needs, reviews_fingerprint
from scirgen.qa.tasks import read_pools
from scirgen.stages.base import RunView, Scope, Stage, StageContext, StageResult, Uses, WorkItem
from scirgen.stages.release.content import from_run
from scirgen.stages.release.run_tasks import RunQueries, queries_of_run
from scirgen.stages.release.settle.contamination import Benchmarks, fingerprint
from scirgen.stages.release.settle.duplicates import Resolve
from scirgen.stages.release.settle.paraphrases import Paraphrases, describe, model_fingerprint, usable_model
from scirgen.stages.release.write import ReleaseSettings, write_release

_FOLDER = "release"


class ReleaseStage(Stage):
    """Writes ``RUN/release`` from the run's current results; the runner's fingerprint covers all of them."""

    name: ClassVar[str] = "release"
    version: ClassVar[int] = 5

    def uses(self, config: Config) -> Uses:
        """The release's settings, and scirgen's version, which the card names."""
        return Uses(
            config=("release",),
            taxonomies=("wording", "facets") if config.query.recipes else ("wording",),
            extra=(
                *([_judgements_fingerprint(config)] if config.query.recipes else []),
                version("scirgen"),
                config.domain,
                digest(config.generate.quota),
                fingerprint(_benchmarks(config)),
                model_fingerprint(config.release.decontaminate_model, _benchmarks(config)),
                usable_model(config.release.duplicates_model, "release.duplicates_model"),
                *([reviews_fingerprint(_labels(config))] if config.release.labels else []),
            ),
        )

    def items(self, scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        """One item, whatever the scope."""
        return [WorkItem(key=_FOLDER)]

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        """Write the release; its files are the outputs."""
        release, rejections = await asyncio.to_thread(self._write, ctx)
        provenance = ctx.provenance()
        marker = release.folder / "release.json"
        files = [
            ReleaseFile(path=f"{_FOLDER}/{f.path}", sha256=f.sha256, bytes=f.bytes, rows=f.rows, provenance=provenance)
            for f in release.info.files
        ]
        files.append(
            ReleaseFile(
                path=f"{_FOLDER}/{marker.name}",
                sha256=file_sha256(marker),
                bytes=marker.stat().st_size,
                provenance=provenance,
            )
        )
        return StageResult(
            outputs=tuple(files),
            rejections=tuple(r.model_copy(update={"provenance": provenance}) for r in rejections),
        )

    def _write(self, ctx: StageContext) -> tuple[Release, list[Rejection]]:
        if ctx.run is None:
            raise ConfigError("the release stage can only run on a whole run")
        config = ctx.config
        info = ReleaseInfo(
            name=config.release.name or f"{config.domain}-qa",
            origin="scirgen run",
            scirgen=version("scirgen"),
            domain=config.domain,
            language=config.language,
            seed=config.seed,
            about={k: v for k, v in config.release.about.model_dump().items() if v},
        )
        settings, files = config.release, _benchmarks(config)
        if files:
            info = info.model_copy(update={"notes": tuple(_decontamination_notes(settings, files))})
        if settings.duplicates_model:
            note = f"Near-duplicates were also looked for by embeddings of {describe(settings.duplicates_model)}."
            info = info.model_copy(update={"notes": (*info.notes, note)})
        info = info.model_copy(update={"notes": (*ctx.run.notes(), *info.notes)})
        reviewed = read_reviews(_labels(config))
        info = info.model_copy(update={"labels": reviewed.notes})
        content = replace(from_run(ctx.run, info), reviewed=reviewed)
        content.run_queries = _queries(ctx, ctx.run)
        if content.run_queries.withheld:
            note = f"The abstracts of {content.run_queries.withheld} paper(s) are left out: their licence does not admit it."
            content.info = content.info.model_copy(update={"notes": (*content.info.notes, note)})
        return write_release(
            content,
            ctx.folder / _FOLDER,
            ReleaseSettings(
                wording=ctx.taxonomies.wording.of(config.language),
                registry=ctx.registry,
                ratios=settings.ratios,
                seed=config.seed,
                formats=settings.formats,
                passages=settings.passages,
                benchmarks=Benchmarks(files, settings.decontaminate_words) if files else None,
                paraphrases=Paraphrases(files, settings.decontaminate_model, settings.decontaminate_similarity)
                if settings.decontaminate_model
                else None,
                resolve=_resolver(settings),
                choose=partial(_to_target, ctx, ctx.run) if config.generate.quota.total is not None else None,
            ),
        )


def _queries(ctx: StageContext, run: RunView) -> RunQueries:
    """The run's queries and abstracts, with the grades of earlier pools.

    Raises:
        InputError: a folder of ``release.judgements`` is not a folder of grades, or belongs to another release.
    """
    settings = ctx.config.release
    found = queries_of_run(run, ctx.taxonomies.facets, every_licence=settings.abstracts == "all")
    reviewed = reviewed_drafts([f for f in _labels(ctx.config) if LabelSet(f).sample.task == "query"])
    queries = reviewed_needs(found.queries, reviewed, drafts=True)
    grades, unvalidated = read_pools(_judgements(ctx.config), {q.id for q in queries})
    return replace(
        found,
        queries=tuple(queries),
        dropped=tuple(q for q in found.queries if q.id in reviewed and reviewed[q.id] is None),
        grades=tuple(grades),
        unvalidated=tuple(sorted(unvalidated)),
        require_review=ctx.config.query.require_review,
    )


def _judgements_fingerprint(config: Config) -> str:
    """The grades, and their conditions, on which a release depends."""
    files = [f / name for f in _judgements(config) for name in ("grades.jsonl", "pool.json")]
    return digest(config.query.require_review, [file_sha256(f) for f in files if f.is_file()])


def _judgements(config: Config) -> list[Path]:
    return [Path(f).expanduser() for f in config.release.judgements]


def _resolver(settings: ReleaseConfig) -> Resolve:
    """Finds near-duplicates and decides about them: by words, and by embeddings if a model is configured."""
    if not settings.duplicates_model:
        return resolve
    model = open_embedder(model_of(settings.duplicates_model))
    return partial(resolve, embed=model.embed, embed_threshold=settings.duplicates_similarity)


def _labels(config: Config) -> list[Path]:
    return [Path(f).expanduser() for f in config.release.labels]


def _benchmarks(config: Config) -> list[Path]:
    return [Path(f).expanduser() for f in config.release.decontaminate]


def _decontamination_notes(settings: ReleaseConfig, files: Sequence[Path]) -> Iterator[str]:
    names = ", ".join(f.name for f in files)
    words = settings.decontaminate_words
    yield f"Rows that share {words} words in a row with a question or answer of {names} are left out."
    if settings.decontaminate_model:
        yield (
            f"So are rows whose question has a cosine of {settings.decontaminate_similarity:g} or more with a question of "
            f"{names}, by embeddings of {describe(settings.decontaminate_model)}."
        )


def _to_target(ctx: StageContext, run: RunView, left: frozenset[str]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Ids of the rows (of those that can be released) that the target keeps, and a line for the card on each cell with
    too few rows."""
    quota = ctx.config.generate.quota
    kinds = ctx.taxonomies.wanted_types(ctx.config.generate.types, ctx.pack, ctx.config.language)
    reached = progress(run, ctx.taxonomies)
    reached = replace(reached, accepted=tuple(a for a in reached.accepted if a.id in left))
    kept = select(quota, kinds, reached.accepted)
    short = shortfall(quota, kinds, reached, rejection_codes(run))
    lines = [f"Target: {quota.total} rows; {len(kept)} were reached."]
    lines += [f"Shortfall in {s.cell}: {s.got} of {s.wanted}, {s.reason}." for s in short]
    return kept, tuple(lines)
