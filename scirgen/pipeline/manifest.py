"""The run's manifest: versions, hashes, models, counts and usage. Never a secret, never a prompt's text."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from scirgen.core import __version__
from scirgen.core.config import Config, Section
from scirgen.core.corpus import Reading
from scirgen.core.errors import StoreError
from scirgen.core.safety.files import mode_beside, write_new
from scirgen.pipeline.intake import intake_fingerprint
from scirgen.pipeline.runner import stage_fingerprint
from scirgen.pipeline.store import Store
from scirgen.pipeline.views.view import StoreView
from scirgen.stages.base import Stage, StageContext
from scirgen.stages.filter.idle import filter_in_force, judged_nothing
from scirgen.stages.parse.readers import reader_in_use


def build_manifest(
    config: Config,
    ctx: StageContext,
    stages: Mapping[str, Stage],
    usage: Mapping[str, object],
    last: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """Return everything that describes how the release was made, without clock times, paths or addresses.

    ``usage`` covers all invocations, ``last`` only the last one.
    """
    sessions = {"generator": ctx.chat_session, "scorer": ctx.score_session, "judge": ctx.judge_session}
    return {
        "scirgen": __version__,
        "python": platform.python_version(),
        "plugins": {p.name: p.version for p in ctx.registry.plugins.values()},
        "domain": config.domain,
        "seed": config.seed,
        "language": config.language,
        "reader": reader_in_use(config.parse.reader),
        "models": {role: str(s.identity) for role, s in sessions.items() if s is not None},
        "prompt_pack": ctx.chat_session.pack if ctx.chat_session else None,
        "prompts": {i: ctx.prompts.get(i).hash[:12] for i in ctx.prompts.ids()},
        "taxonomies": {n: ctx.taxonomies.hash(n)[:12] for n in ("graesser", "bloom", "aspects", "sections")},
        "stages": {"collect": intake_fingerprint(ctx)[:12]}
        | {name: stage_fingerprint(s, ctx)[:12] for name, s in stages.items()},
        "settings": {
            name: part.model_dump(mode="json")
            for name in ("collect", *stages)
            if isinstance(part := config.section_of(name), Section)
        },
        "corpus": Reading.open(Path(config.search.corpus)).content if config.search.corpus else "",
        "filter": filter_in_force(ctx),
        "usage": dict(usage),
        "usage_last_invocation": dict(last or {}),
    }


def write_manifest(folder: Path, store: Store, manifest: dict[str, object]) -> None:
    """Write RUN/manifest.json (atomically) and keep a copy in the store.

    Raises:
        StoreError: it cannot be written.
    """
    view = StoreView(store)
    idle = [asdict(one) for one in judged_nothing(view, manifest)]
    manifest = {**manifest, "counts": view.funnel(), "judged_nothing": idle}
    text = json.dumps(manifest, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
    store.set_meta("manifest", text)
    try:
        write_new(folder / "manifest.json", text, mode=mode_beside(folder / "run.db"))
    except OSError as error:
        raise StoreError(f"{folder / 'manifest.json'} cannot be written: {error.strerror}") from error
