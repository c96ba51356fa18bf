"""`scirgen merge`: opens the parts, checks that they fit together, and writes one release."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from scirgen.commands.merge.merge import check_parts, merged_config, open_merged, remember_parts, write_merged_manifest
from scirgen.commands.merge.merge import release as release_merged
from scirgen.commands.merge.parts import open_parts, settle_overlap
from scirgen.core.domains import find_domain
from scirgen.core.prompts import PromptLibrary
from scirgen.core.registry import load_registry
from scirgen.core.resources import Resources
from scirgen.core.runtime import blocking
from scirgen.core.taxonomy import Taxonomies
from scirgen.pipeline.observer import Observer
from scirgen.pipeline.run import build_stages
from scirgen.pipeline.runner import Outcome
from scirgen.pipeline.views.merged_view import MergedView
from scirgen.stages.base import StageContext


@dataclass(frozen=True)
class Permitted:
    """Differences from one run that a merge accepts.

    Attributes:
        mixed: parts that were made with different models, prompts, settings or seeds.
        partial: parts that are unfinished or have failed items.
        first_wins: a dataset that several parts have with different results; the part named first gives it.
    """

    mixed: bool = False
    partial: bool = False
    first_wins: bool = False


def merge_runs(
    folder: Path,
    parts: Sequence[Path],
    permitted: Permitted,
    config_file: Path | None,
    settings: Mapping[str, object],
    observer: Observer,
) -> Outcome:
    """Write the release and the manifest of a merged run into ``folder``; `scirgen.merge` documents the arguments.

    Raises:
        ScirgenError: the parts cannot become one release; nothing is written.
    """
    registry = load_registry()
    with ExitStack() as closing:
        opened = open_parts(parts, closing)
        notes = check_parts(opened, mixed=permitted.mixed, partial=permitted.partial)
        config = merged_config(opened, config_file, settings)
        elsewhere = settle_overlap(opened, first_wins=permitted.first_wins)
        stage = build_stages(registry)["release"]
        resources = Resources(
            find_domain(config.domain, registry), Path(config.overrides) if config.overrides else None
        )
        store = closing.enter_context(open_merged(folder, opened))
        view = MergedView(store, opened, notes)
        ctx = StageContext(
            config, resources, PromptLibrary(resources), Taxonomies(resources), registry, folder,
            log=logging.getLogger("scirgen"),
        )  # fmt: skip
        observer.note(f"{len(opened)} part(s) with {len(view.dataset_ids()):,} datasets: writing their release")
        outcome = blocking(release_merged(store, view, ctx, stage, observer))
        remember_parts(folder, store, view, elsewhere)
        write_merged_manifest(folder, store, view, ctx, stage)
    return outcome
