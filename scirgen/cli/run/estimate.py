"""``scirgen estimate``: predicts calls, tokens, cost and hours of a run."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import click

from scirgen.api import estimate_run, resolve_config
from scirgen.cli.options import PATH, as_json_flag, run_options, settings_of
from scirgen.commands.estimate.result import Estimate, Figure


@click.command()
@run_options
@click.option("--sample", default=8, show_default=True, type=click.IntRange(min=1), help="Datasets to rehearse on.")
@click.option(
    "--history",
    type=PATH,
    help="An earlier run with the same model; supplies reply lengths, tokens per character and speed.",
)
@click.option(
    "--tokens-per-second",
    type=click.FloatRange(min=0, min_open=True),
    help="Total tokens per second that the server writes; needed for the hours.",
)
@as_json_flag
def estimate(
    out: Path,
    config_file: Path | None,
    sample: int,
    history: Path | None,
    tokens_per_second: float | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Predict calls, tokens, cost and hours of `scirgen generate` with the same options. No model is called.

    scirgen collects and parses a few datasets for real (it keeps the downloads in --out), runs all stages on them with
    made-up replies, counts the requests, and scales them up.
    """
    loaded, domain = resolve_config(domain=given["domain"], config_file=config_file, flags=settings_of(given))
    found = asyncio.run(
        estimate_run(out, loaded.config, domain, sample=sample, history=history, tokens_per_second=tokens_per_second)
    )
    click.echo(json.dumps(found.data(), indent=2, ensure_ascii=False) if as_json else as_text(found))


def as_text(found: Estimate) -> str:
    """The estimate as a table."""
    lines = [f"{found.datasets} datasets; rehearsed on {found.sampled} of them. low .. usual .. high"]
    lines.append(f"{'stage':10}{'items':>22}{'calls':>26}{'prompt tokens':>28}{'reply tokens':>28}")
    for s in found.stages:
        label = f"{s.stage}" + (" *" if s.kind == "score" else "")
        row = f"{label:10}{_range(s.items):>22}"
        if s.kind:
            row += f"{_range(s.calls):>26}{_range(s.prompt_tokens):>28}{_range(s.completion_tokens):>28}"
        lines.append(row)
    lines.append(
        f"{'all':10}{'':22}{_range(found.calls):>26}{_range(found.prompt_tokens):>28}"
        f"{_range(found.completion_tokens):>28}"
    )
    if any(s.kind == "score" for s in found.stages):
        lines.append("* log-probabilities, by the scorer, which reads its reply tokens instead of writing them")
    lines.append(f"at most {_short(found.ceiling_tokens)} tokens, if every reply reached its limit and was repaired")
    cost = "unknown: no models.prices for the models used"
    if found.cost is not None:
        cost = f"{found.cost.low:.2f} .. {found.cost.usual:.2f} .. {found.cost.high:.2f} (at most {found.ceiling_cost:.2f})"
    lines.append(f"cost      {cost}")
    hours = "unknown: give --history RUN or --tokens-per-second"
    if found.hours is not None:
        hours = " .. ".join(_hours(h) for h in (found.hours.low, found.hours.usual, found.hours.high))
    lines.append(f"model     {hours}")
    lines.append(f"own work  {_hours(found.own_minutes / 60)} on this machine (collecting, parsing, gates), beside it")
    for number, paper in enumerate(found.dearest):
        of = ", ".join(f"{stage} {calls}" for stage, calls in paper.calls.items())
        name = "".join(c if c.isprintable() else " " for c in paper.title or paper.paper_id)[:60]
        lines.append(f"{'' if number else 'dearest':10}{paper.total:>6} calls for {name} ({of})")
    lines += [f"note: {note}" for note in found.notes]
    return "\n".join(lines)


def _range(figure: Figure) -> str:
    low, usual, high = (_short(v) for v in (figure.low, figure.usual, figure.high))
    return usual if low == usual == high else f"{low} .. {usual} .. {high}"


def _short(value: float) -> str:
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= 10 * size:
            return f"{value / size:.0f}{unit}"
        if value >= size:
            return f"{value / size:.1f}{unit}"
    return f"{value:.0f}"


def _hours(hours: float) -> str:
    if hours >= 1.5:
        return f"{hours:.1f} h"
    return f"{hours * 60:.1f} min" if hours * 60 >= 1 else f"{hours * 3600:.0f} s"
