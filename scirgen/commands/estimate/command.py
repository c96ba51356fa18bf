"""`scirgen estimate`: rehearses a run on a few datasets and predicts calls, tokens, cost and hours of the whole."""

from __future__ import annotations

import tempfile
from pathlib import Path

from scirgen.commands.estimate.estimate import Known, estimate
from scirgen.commands.estimate.history import read_history
from scirgen.commands.estimate.rehearse import LEANS, draw_sample, model_facts, rehearse
from scirgen.commands.estimate.result import Estimate
from scirgen.core.config import Config
from scirgen.core.errors import InputError
from scirgen.core.registry import load_registry
from scirgen.core.resources import Domain, Resources
from scirgen.pipeline.run import build_stages
from scirgen.stages.collect.open import open_source
from scirgen.stages.collect.source import Source
from scirgen.stages.collect.validated_source import checked


async def estimate_run(
    folder: Path,
    config: Config,
    domain: Domain,
    *,
    sample: int = 8,
    history: Path | None = None,
    tokens_per_second: float | None = None,
    source: Source | None = None,
) -> Estimate:
    """Predict what `run_pipeline` would take, from rehearsals on ``sample`` datasets. It calls no model and costs
    nothing.

    Args:
        folder: the run's folder, which keeps downloaded papers for the run.
        config: as for the run.
        domain: as for the run.
        sample: datasets to rehearse on, drawn evenly by the seed.
        history: the folder of an earlier run with the same model.
        tokens_per_second: total tokens per second that the model writes.
        source: as for the run.

    Raises:
        ScirgenError: wrong input or settings.
    """
    registry = load_registry()
    resources = Resources(domain, Path(config.overrides) if config.overrides else None)
    opened = open_source(config, registry, domain, folder) if source is None else checked(source)
    drawn = await draw_sample(opened, config, sample)
    if not drawn.ids:
        raise InputError("there is no dataset to estimate from", hint="Look at: scirgen generate --dry-run.")
    facts = await model_facts(config, registry)
    learnt = read_history(history) if history else None
    if learnt is not None and not any(m.startswith(str(facts.generator[0])) for m in learnt.models):
        facts.notes.append(
            f"{history} was made with {', '.join(sorted(learnt.models)) or 'no model'}, not with this one."
        )
    stages, rehearsals = build_stages(registry), []
    with tempfile.TemporaryDirectory(prefix="scirgen-estimate-") as scratch:
        for lean in LEANS:
            made = await rehearse(config, registry, resources, stages, opened, facts, drawn, lean, Path(scratch))
            rehearsals.append(made)
    pack = facts.generator[1].pack if config.models.pack == "auto" else config.models.pack
    return estimate(rehearsals, Known(config, drawn, learnt, tokens_per_second, pack == "small", facts.notes))
