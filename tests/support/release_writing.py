"""Writes a release from a run's view or its content, with settings for tests."""

from __future__ import annotations

from pathlib import Path

from scirgen.core.registry import Registry
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.release_files.release import Release, ReleaseInfo
from scirgen.stages.release.content import from_run
from scirgen.stages.release.write import ReleaseSettings, write_release

RATIOS = (0.8, 0.15, 0.05)
ALL_TRAIN = (1.0, 0.0, 0.0)


def info() -> ReleaseInfo:
    return ReleaseInfo(name="snow", origin="scirgen run", scirgen="0", domain="geo", seed=3)


def write_content(
    content, folder: Path, *, registry: Registry | None = None, formats=("jsonl",), seed: int = 3, ratios=RATIOS
) -> Release:
    release, _ = write_release(
        content,
        folder,
        ReleaseSettings(
            ratios=ratios,
            seed=seed,
            formats=formats,
            registry=registry or Registry(),
            wording=Taxonomies(Resources()).wording.of("en"),
        ),
    )
    return release


def write(
    run, folder: Path, registry: Registry | None = None, formats=("jsonl",), seed: int = 3, ratios=RATIOS
) -> Release:
    content = from_run(run, info())
    return write_content(content, folder, seed=seed, formats=formats, registry=registry, ratios=ratios)
