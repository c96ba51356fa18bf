"""Raises an error for a run that made nothing."""

from __future__ import annotations

import shlex
from pathlib import Path

from scirgen.core.errors import ConfigError, InputError
from scirgen.pipeline.plan import PLAN
from scirgen.pipeline.views.view import StoreView


def refuse_nothing(folder: Path, view: StoreView) -> None:
    """Raise an error if a stage produced nothing for every item, or the catalogue has no dataset.

    Called before the release, so an empty release does not replace a good one.
    """
    kept = "; the release of an earlier run is kept" if (folder / "release" / "release.json").is_file() else ""
    funnel = view.funnel()
    added = set(view.stages()) - {step.stage for step in PLAN}
    for stage in ("collect", "generate", "filter"):
        row = funnel[stage]
        worked = row["done"] + row["partial"] + row["failed"]
        if row["outputs"] or not (worked or stage == "collect"):
            continue
        if stage != "collect" and any(funnel[name]["outputs"] for name in added if name in funnel):
            continue  # what a plugin's step made (retrieval queries) is a result, too
        codes = sorted((k for k in row if ":" in k), key=lambda k: -row[k])[:3]
        seen = ", ".join(f"{k.split(':')[1]} {row[k]}" for k in codes)
        if stage == "collect":
            first = next((f"; the first: {r.reason}" for r in view.rejections(stage)), "")
            raise InputError(
                f"no dataset was collected ({seen}{first}){kept}"
                if seen
                else f"the source gave none of the requested datasets{kept}",
                hint=f"Look at: scirgen status {shlex.quote(str(folder))} --reasons collect"
                if seen
                else "Check --input, --query and --ids.",
                code="nothing_made",
            )
        raise ConfigError(
            f"stage {stage} produced no output ({seen or 'nothing to work on'}){kept}",
            hint=f"Look at: scirgen status {shlex.quote(str(folder))} --reasons {stage}. "
            "Try a stronger --model or other input.",
            code="nothing_made",
        )
