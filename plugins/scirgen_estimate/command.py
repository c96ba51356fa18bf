"""``scirgen estimate``: predicts calls, tokens, cost and hours of a run."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import click

from scirgen.cli.options import counted, run_options, settings_of
from scirgen.cli.run.generate import default_folder
from scirgen.llm.services import prices_read
from scirgen.plugin import PATH, as_json_flag, echo_json, resolve_config
from scirgen_estimate.estimating import Estimate, Figure, estimate_run


@click.command()
@run_options
@click.option("--sample", default=3, show_default=True, type=click.IntRange(min=1), help="Datasets to try.")
@click.option(
    "--history",
    type=PATH,
    help="An earlier run with the same model; its usage per dataset and its speed are used instead. [default: the run "
    "in --out, if it is one]",
)
@click.option(
    "--tokens-per-second",
    type=click.FloatRange(min=0, min_open=True),
    help="Total tokens per second that the server writes; needed for the hours.",
)
@as_json_flag
def estimate(
    out: Path | None,
    config_file: Path | None,
    sample: int,
    history: Path | None,
    tokens_per_second: float | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Predict calls, tokens, cost and hours of `scirgen generate` with the same options. No model is called.

    scirgen collects and parses a few datasets for real (it keeps the downloads in --out), runs all stages on them with
    its fake model, counts the calls, and multiplies them by the number of datasets and the prices.
    """
    loaded, domain = resolve_config(domain=given["domain"], config_file=config_file, flags=settings_of(given))
    out = out or default_folder(loaded.config)
    found = asyncio.run(
        estimate_run(out, loaded.config, domain, sample=sample, history=history, tokens_per_second=tokens_per_second)
    )
    if as_json:
        echo_json(found.data())
    else:
        click.echo(as_text(found))


def as_text(found: Estimate) -> str:
    """Return the estimate as a table."""
    of = f"tried on {found.sampled} of them" if found.sampled else "from an earlier run"
    lines = [f"{counted(found.datasets, 'dataset')}; {of}. Each figure: low .. typical .. high"]
    lines.append(f"{'stage':10}{'model':10}{'calls':>24}{'prompt tokens':>26}{'reply tokens':>26}")
    rows = [(s.stage, s.role, s.calls, s.prompt_tokens, s.reply_tokens) for s in found.shares]
    for stage, role, *figures in [*rows, ("all", "", found.calls, found.prompt_tokens, found.reply_tokens)]:
        calls, prompts, replies = map(_range, figures)
        lines.append(f"{stage or 'all':10}{role:10}{calls:>24}{prompts:>26}{replies:>26}")
    cost = "unknown: no price for the models used; see models.prices"
    if found.cost is not None:
        cost = (
            f"{found.cost.low:.2f} .. {found.cost.typical:.2f} .. {found.cost.high:.2f}, "
            f"by models.prices or list prices of {prices_read()}"
        )
    lines.append(f"cost      {cost}")
    if found.cost_per_row is not None:
        known = f"if all {found.rows:,} candidates are kept" if found.sampled else f"for {found.rows:,} rows"
        lines.append(f"a row     {'at least ' if found.sampled else ''}{found.cost_per_row:.4f}, {known}")
    hours = "unknown: give --history RUN or --tokens-per-second"
    if found.hours is not None:
        hours = " .. ".join(_hours(h) for h in (found.hours.low, found.hours.typical, found.hours.high))
    lines.append(f"models    {hours}")
    if found.own_minutes is not None:
        lines.append(
            f"scirgen   {_hours(found.own_minutes / 60)} on this machine (collecting, parsing, gates), beside it"
        )
    lines += [f"note: {note}" for note in found.notes]
    return "\n".join(lines)


def _range(figure: Figure) -> str:
    low, typical, high = (_short(v) for v in (figure.low, figure.typical, figure.high))
    return typical if low == typical == high else f"{low} .. {typical} .. {high}"


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
