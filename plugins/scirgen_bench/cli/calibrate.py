"""``scirgen calibrate``: measures faithfulness scores on labelled answers and finds thresholds."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import click
import yaml

from scirgen import Config, Domain
from scirgen.plugin import (
    Resources,
    load_registry,
    parse_settings,
    resolve_config,
    settings_option,
)
from scirgen_bench.calibrate import plant as planting
from scirgen_bench.calibrate.calibrate import Calibrated, fit_coefficients, opened, read_labels
from scirgen_bench.calibrate.calibrate import calibrate as run
from scirgen_bench.calibrate.coefficients import write
from scirgen_bench.calibrate.quality import FEWEST, GroupQuality, Quality
from scirgen_bench.cli.options import (
    PATH,
    config_option,
    json_file_option,
    names_in,
    write_json,
)


@click.command()
@click.option(
    "--labels",
    type=PATH,
    help="JSON Lines (question, answer, context, label), or a folder of scirgen label.",
)
@click.option("--plant", type=PATH, help="Folder of a run: make some of its candidates false, and measure the filter.")
@click.option(
    "--each",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="With --plant: falsehoods of each of the eight kinds.",
)
@click.option(
    "--good",
    type=click.IntRange(min=1),
    default=80,
    show_default=True,
    help="With --plant: candidates that stay as they are.",
)
@click.option("--scorers", help="Faithfulness scorers, e.g. shift,llm_judge (default: the configured ones).")
@click.option("--model", help="Generator, for llm_judge and semantic.")
@click.option("--scorer", help="Scorer, for shift.")
@click.option(
    "--precision", type=click.FloatRange(0.0, 1.0), help="Wanted precision.  [default: 0.95; of coefficients 0.98]"
)
@click.option("--domain", help="Domain whose prompts are used.")
@config_option
@settings_option("filter.window=evidence")
@click.option("--save", type=PATH, help="Write the thresholds for `generate --config`.")
@click.option(
    "--coefficients",
    type=PATH,
    help="Fit the coefficients of the scorer `calibrated` and write them to this file; with --plant, store in this "
    "file how well the scorer separates true from false answers of each question type.",
)
@json_file_option
def calibrate(
    labels: Path | None,
    plant: Path | None,
    each: int,
    good: int,
    scorers: str | None,
    model: str | None,
    scorer: str | None,
    precision: float | None,
    domain: str | None,
    config_file: Path | None,
    settings: tuple[str, ...],
    save: Path | None,
    coefficients: Path | None,
    json_file: Path | None,
) -> None:
    """Measure faithfulness scores on labelled answers and find thresholds.

    Prints precision, recall and F1 without a filter and with each scorer (the layout of ScIRGen's table 2), ROC-AUC,
    and the threshold that reaches the wanted precision: for all answers, and for question types with ten labels of each
    kind.

    With --plant RUN instead of labels, scirgen falsifies answers of the run's own candidates in eight ways (number,
    unit, place, time, direction, swapped parts, stronger claim, another study's fact). The table shows what each gate,
    score and, with --model, the judge catches, and which good candidates it rejects.
    """
    if (labels is None) == (plant is None):
        raise click.UsageError("give either --labels FILE or --plant RUN")
    if plant is None and coefficients and (save or scorers):
        raise click.UsageError("--coefficients come with their own thresholds: leave out --save and --scorers")
    flags: dict[str, object] = dict(parse_settings(settings))
    if scorers:
        flags["filter.faithfulness"] = names_in(scorers)
    flags |= {k: v for k, v in (("models.generator", model), ("models.scorer", scorer)) if v}
    loaded, pack = resolve_config(domain=domain, config_file=config_file, flags=flags)
    if plant is not None:
        _planted(
            plant, loaded.config, pack, (each, good), bool(model or loaded.config.models.judge), coefficients, json_file
        )
        return
    assert labels is not None
    rows = read_labels(labels)
    if coefficients:
        about = f"{len(rows)} labels of {labels.name}"
        fitting = fit_coefficients(
            rows, loaded.config, Resources(pack), load_registry(), description=about,
            precision=0.98 if precision is None else precision, tell=lambda message: click.echo(message, err=True),
        )  # fmt: skip
        fitted, outside = asyncio.run(fitting)
        write(coefficients, fitted.file)
        click.echo(fitted_as_text(outside))
        click.echo(f"Written to {coefficients}; use it with --set filter.coefficients={coefficients}")
        write_json(json_file, json.dumps(outside, indent=2))
        return
    precision = 0.95 if precision is None else precision
    found = asyncio.run(run(rows, loaded.config, Resources(pack), load_registry(), precision=precision))
    click.echo(as_text(found, precision))
    value = json.loads(json.dumps(found.as_json()).replace("-Infinity", "null"))
    write_json(json_file, json.dumps(value, indent=2))
    if save:
        head = (
            f"# Thresholds of scirgen calibrate --labels {labels.name} --precision {precision:g}, "
            f"{found.rows} labels.\n"
        )
        save.write_text(head + yaml.safe_dump(found.thresholds(), sort_keys=False), encoding="utf-8")


def _planted(
    run: Path, config: Config, pack: Domain, sizes: tuple[int, int], judged: bool, coefficients: Path | None,
    json_file: Path | None,
) -> None:  # fmt: skip
    """Measure planted falsehoods, print the table, and store how well the scorer separates each question type."""

    async def measured() -> planting.PlantedReport:
        resources = Resources(pack)
        async with opened(config, resources, load_registry(), judged=judged) as ctx:
            items = planting.items_of(
                run, each=sizes[0], good=sizes[1], seed=config.seed, language=ctx.taxonomies.wording.of
            )
            return await planting.measure(items, ctx, lambda message: click.echo(message, err=True))

    found = asyncio.run(measured())
    click.echo(planting.as_text(found))
    write_json(json_file, json.dumps(found.as_json(), indent=2, ensure_ascii=False))
    if coefficients:
        planting.store_aucs(coefficients, found)
        click.echo(f"Stored in {coefficients}")


def fitted_as_text(found: Any) -> str:
    """Format the results of coefficients on datasets that they were not fitted on."""
    auc = _interval(found["auc"], found["auc_interval"])
    lines = [
        f"on datasets that were left out: {found['rows']} answers, {found['faithful']} faithful, AUC {auc}",
        f"rejected at or below {found['reject']:.3f}, kept above {found['sure']:.3f}, unsure between them",
    ]
    for name, side in found["sides"].items():
        share = f"{side['right']} rightly" if side["rows"] else "no edge reaches the precision"
        lines.append(
            f"  {name}: {side['rows']}, {_interval(side['right'] / max(1, side['rows']), side['interval'])}, {share}"
        )
    lines += [
        f"    {kind:24}{n['rejected']:>5} rejected{n['unsure']:>5} unsure{n['kept']:>5} kept"
        for kind, n in found["kinds"].items()
    ]
    return "\n".join(lines)


def as_text(found: Calibrated, precision: float) -> str:
    """Return the tables as text."""
    lines = [f"{found.rows} labels, {found.faithful} faithful", ""]
    if found.unfiltered is not None and (dev := found.rows - found.unfiltered.rows):
        lines[1:1] = [
            f"Thresholds are fitted on {dev} dev labels; all figures are of the {found.unfiltered.rows} test labels."
        ]
    lines.append(f"{'filter':16}{'threshold':>10}{'kept':>7}  {'precision':20}{'recall':20}{'F1':20}AUC")
    if found.unfiltered is not None:
        lines.append(_line("no filter", found.unfiltered, ""))
    for name, scorer in found.scorers.items():
        auc = _interval(scorer.auc, scorer.auc_interval)
        lines.append(_line(name, scorer.configured, auc))
        if scorer.wanted is not None:
            lines.append(_line(f"  for {precision:.0%}", scorer.wanted, ""))
            if scorer.wanted.kept < FEWEST:
                lines.append(f"  that threshold keeps {scorer.wanted.kept} of these labels: too few to rely on")
        else:
            lines.append(f"  no threshold reaches a precision of {precision:.0%} on these labels")
        if scorer.failed:
            lines.append("  not scored: " + ", ".join(f"{n} {code}" for code, n in sorted(scorer.failed.items())))
        for kind, group in {**scorer.by_type, **scorer.by_length}.items():
            shown = "   -" if group.auc is None else f"{group.auc:.2f}"
            own = scorer.thresholds.get(kind)
            kept = f"  threshold {own:.3g}" if own is not None and kind != "*" else ""
            count = f"{group.rows:>5} labels, {group.faithful} faithful"
            lines.append(f"    {kind or 'type not given':26}{count:24}  AUC {shown}{kept}")
        hopeless = [
            kind for kind, g in scorer.by_type.items() if carries(g) and g.threshold_wanted is None and scorer.wanted
        ]
        if hopeless:
            lines.append(f" not reached for {', '.join(hopeless)}, which use the threshold for all types")
        unknown = sorted(set(scorer.thresholds) - {"*"} - set(found.types))
        if unknown:
            lines.append(f"  not in the taxonomy, so --save leaves them out: {', '.join(unknown)}")
    return "\n".join(lines)


def carries(group: GroupQuality) -> bool:
    """Return whether a type has enough labels for its own threshold."""
    return min(group.faithful, group.rows - group.faithful) >= FEWEST


def _line(name: str, at: Quality, auc: str) -> str:
    threshold = "-" if at.threshold == float("-inf") else f"{at.threshold:.3g}"
    cells = (
        _interval(at.precision, at.precision_interval), _interval(at.recall, at.recall_interval),
        _interval(at.f1, at.f1_interval),
    )  # fmt: skip
    return f"{name:16}{threshold:>10}{at.kept:>7}  " + "".join(f"{c:20}" for c in cells) + auc


def _interval(value: float | None, interval: tuple[float, float] | None) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}" + (f" [{interval[0]:.2f}, {interval[1]:.2f}]" if interval else "")
