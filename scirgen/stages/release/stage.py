"""Stage 10: writes all accepted pairs as one release folder. Splits need the whole run, so there is one work item."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import ClassVar

from scirgen.core.config import Config, ReleaseConfig
from scirgen.core.errors import ConfigError
from scirgen.core.fingerprint import digest, file_sha256
from scirgen.core.records import Rejection, ReleaseFile
from scirgen.core.registry import Registry, load_registry
from scirgen.core.registry.plugincode import made_of, provided_code
from scirgen.core.safety.files import named_files
from scirgen.llm.encoders.embedder import embedder_of
from scirgen.release_files.release import Release, ReleaseInfo
from scirgen.release_files.reviews import Reviewed, label_reader
from scirgen.repeats.neardup import resolve
from scirgen.stages.base import Scope, Stage, StageContext, StageResult, Uses, WorkItem
from scirgen.stages.release.content import from_run
from scirgen.stages.release.parts import added_values, columns, part_contents, release_parts, row_fields
from scirgen.stages.release.settle.duplicates import Benchmarks, Resolve, fingerprint
from scirgen.stages.release.write import ReleaseSettings, format_writer, write_release

_FOLDER = "release"


class ReleaseStage(Stage):
    """Writes ``RUN/release`` from the run's current results; the runner's fingerprint covers all of them."""

    name: ClassVar[str] = "release"
    version: ClassVar[int] = 16

    def uses(self, config: Config) -> Uses:
        """Return the release's settings, and scirgen's version, which the card names."""
        registry = load_registry()
        parts, fields = release_parts(config, registry), row_fields(config, registry)
        return Uses(
            config=("release",),
            taxonomies=tuple(dict.fromkeys(("wording", *(t for p in parts for t in p.taxonomies)))),
            extra=(
                *(f"{p.name} {p.fingerprint(config)}{made_of(p)}" for p in parts),
                *(f"fields {p.name} {p.fingerprint(config)}{made_of(p)}" for p in fields),
                *(code for name in config.release.formats for code in provided_code(registry, "release_format", name)),
                version("scirgen"),
                config.domain,
                digest(config.generate.quota),
                fingerprint(config.release.decontaminate),
                _embedder_identity(config.release.duplicates_model, registry),
                *([label_reader(registry).fingerprint(_labels(config))] if config.release.labels else []),
            ),
        )

    def check_settings(self, config: Config, registry: Registry) -> None:
        """Refuse files that do not exist, formats and labels that no plugin knows, and formats whose packages are not
        installed."""
        _benchmarks(config)
        for name in config.release.formats:
            format_writer(registry, name)
        if config.release.labels:
            label_reader(registry)
            _labels(config)

    def items(self, scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        return [WorkItem(key=_FOLDER)]

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
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
            raise ConfigError("the release stage needs a whole run")
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
            of = f"a question or answer of {', '.join(f.name for f in files)}"
            note = f"Rows that share {settings.decontaminate_words} words in a row with {of} are left out."
            info = info.model_copy(update={"notes": (note,)})
        if settings.duplicates_model:
            kind, name = embedder_of(settings.duplicates_model, ctx.registry)
            note = f"Near-duplicates were also looked for by embeddings of {kind.describe(name)}."
            info = info.model_copy(update={"notes": (*info.notes, note)})
        info = info.model_copy(update={"notes": (*ctx.run.notes(), *info.notes)})
        reviewed = label_reader(ctx.registry).read(_labels(config)) if settings.labels else Reviewed()
        info = info.model_copy(update={"labels": reviewed.notes})
        content = replace(from_run(ctx.run, info), reviewed=reviewed)
        content.parts = part_contents(release_parts(config, ctx.registry), ctx.run, ctx)
        of_run, parts = content.pairs, content.parts
        content.pairs = lambda: chain(of_run(), *(part.pairs() for part in parts))
        fields = row_fields(config, ctx.registry)
        content.added = added_values(fields, ctx.run, ctx)
        notes = tuple(note for part in content.parts for note in part.notes)
        content.info = content.info.model_copy(
            update={"notes": (*content.info.notes, *notes), "row_fields": columns(fields)}
        )
        targeted = config.generate.quota.total is not None or config.generate.asks
        return write_release(
            content,
            ctx.folder / _FOLDER,
            ReleaseSettings(
                wording=ctx.taxonomies.wording.of(config.language),
                registry=ctx.registry,
                ratios=settings.ratios,
                seed=config.seed,
                formats=settings.formats,
                benchmarks=Benchmarks(files, settings.decontaminate_words) if files else None,
                resolve=_resolver(settings, ctx.registry),
                choose=partial(ctx.run.within_target, ctx) if targeted else None,
            ),
        )


def _embedder_identity(uri: str, registry: Registry) -> str:
    """Return the identity of an embedding model for a fingerprint; "" for none."""
    if not uri:
        return ""
    kind, name = embedder_of(uri, registry)
    return kind.identify(name, "release.duplicates_model")


def _resolver(settings: ReleaseConfig, registry: Registry) -> Resolve:
    """Find near-duplicates and decide about them: by words, and by embeddings if a model is configured."""
    if not settings.duplicates_model:
        return resolve
    kind, name = embedder_of(settings.duplicates_model, registry)
    model = kind.open(name)
    return partial(resolve, embed=model.embed, embed_threshold=settings.duplicates_similarity)


def _labels(config: Config) -> list[Path]:
    return [named_files(f, "release.labels")[0] for f in config.release.labels]


def _benchmarks(config: Config) -> list[Path]:
    return [named_files(f, "release.decontaminate")[0] for f in config.release.decontaminate]
