"""``scirgen status RUN``: shows each stage: done, rejected by reason, failed, to do."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import click

from scirgen.cli.options import PATH, as_json_flag, counted
from scirgen.core.errors import InputError
from scirgen.core.files.named import ordinary
from scirgen.core.records import BlockKind, Document, Failure, Link, Paper, Rejection, count_links
from scirgen.core.text.tame import visible
from scirgen.pipeline.plan import PLAN
from scirgen.pipeline.store import StoredResult
from scirgen.pipeline.views.view import StoreView, open_view
from scirgen.release_files.judged import judged_by
from scirgen.release_files.release import Release
from scirgen.stages.parse.grid import refused_place

_OF_PAPERS = ("collect", "parse", "section", "match")
"""Stages whose items are papers; users know papers by their files."""
_LAST_LINE = 20_000
_OF_PAIRS = ("answer", "generate", "filter")  # the keys of their items begin with the dataset's id


@click.command()
@click.argument("run", type=PATH)
@as_json_flag
@click.option("--watch", is_flag=True, help="Refresh every two seconds until interrupted.")
@click.option(
    "--reasons",
    "stage",
    metavar="STAGE",
    help=f"List the items that this stage rejected or failed on, with reasons: {', '.join(s.stage for s in PLAN)}, or "
    "a plugin's.",
)
@click.option(
    "--most",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Items to list for each reason, with --reasons.",
)
def status(run: Path, as_json: bool, watch: bool, stage: str | None, most: int) -> None:
    """Show a run stage by stage, also while it is running."""
    # Users end watching with Ctrl-C, so it is not an error.
    with suppress(KeyboardInterrupt) if watch else nullcontext():
        _show(run, as_json, watch, stage, most)


def _show(run: Path, as_json: bool, watch: bool, stage: str | None, most: int) -> None:
    while True:
        with open_view(run) as view:
            if stage and stage not in (known := view.stages()):
                raise InputError(f"the run has no stage {stage!r}", hint=f"Its stages are {', '.join(known)}.")
            if stage:
                text = "\n".join(_reasons(view, stage, most, as_json)) or f"{stage} rejected nothing"
            else:
                found = collect_status(run, view)
                text = json.dumps(found, indent=2, ensure_ascii=False) if as_json else _as_text(run, view, found)
        if watch:
            click.clear()
        click.echo(text)
        if not watch:
            return
        time.sleep(2)


def collect_status(run: Path, view: StoreView) -> dict[str, Any]:
    """Return the status as plain data."""
    stages = {
        stage: {
            **{k: row.get(k, 0) for k in ("done", "partial", "failed", "todo", "outputs", "rejected")},
            "rejected_by_code": {k.split(":", 1)[1]: n for k, n in row.items() if k.startswith("rejected:")},
            "unchosen": row.get("unchosen", 0),
            "failed_by_code": {k.split(":", 1)[1]: n for k, n in row.items() if k.startswith("failed:")},
        }
        for stage, row in view.funnel().items()
    }
    manifest = view.manifest()
    return {
        "run": str(run),
        "datasets": len(view.dataset_ids()),
        "datasets_waiting": view.waiting(),
        "dropped_datasets": view.dropped_datasets(),
        "parts": _parts(manifest),
        "stages": stages,
        "error": _last_error(run / "log.jsonl"),
        "links": count_links(view.records("match", Link)),
        "queries": view.queries_by_recipe(),
        "own_questions": dict(Counter(fate.outcome for fate in view.own_questions())),
        "rejected_by_type": view.rejected_by_type(),
        "judged_nothing": manifest.get("judged_nothing", []),
        "usage": manifest.get("usage", {}),
        "tokens_per_released_row": view.tokens_per_released_row(),
        "usage_last_invocation": manifest.get("usage_last_invocation", {}),
    }


def _last_error(log: Path) -> str:
    """Return the error that ended the run's last process; empty if it ended in another way, or is working."""
    with suppress(OSError, ValueError, RecursionError), ordinary(log, None).open("rb") as file:
        file.seek(max(0, log.stat().st_size - _LAST_LINE))
        last = json.loads(file.read().rpartition(b"\n")[0].rpartition(b"\n")[2])
        if isinstance(last, dict) and last.get("status") == "error":
            return visible(_line(f"[{last.get('code')}] {last.get('message')}"))
    return ""


def _parts(manifest: Mapping[str, Any]) -> list[str]:
    """Return the runs that a merged run was made of."""
    return [str(part["name"]) for part in manifest.get("merged", {}).get("parts", [])]


def _reasons(view: StoreView, stage: str, most: int, as_json: bool) -> Iterator[str]:
    """Yield a line for each rejection and failure, up to a limit per code; the rest is counted."""
    by_code: Counter[str] = Counter()
    files = {p.id: Path(p.file).name for p in view.records("collect", Paper) if p.file} if stage in _OF_PAPERS else {}
    for result in view.results(stage):
        entries: list[Rejection | Failure] = [*result.rejections(), *result.failures()]
        for entry in entries:
            by_code[entry.code] += 1
            if by_code[entry.code] > most:
                continue
            if as_json:
                yield entry.model_dump_json(exclude_defaults=True)
            elif isinstance(entry, Failure):
                yield f"failed: {entry.code:18} {_named(entry.record_id or result.key, files)}: {_line(entry.message)}"
            else:
                reason = _line(entry.reason.removeprefix(f"{entry.record_id}: "))
                dataset = f" ({result.key.partition('|')[0]})" if stage in _OF_PAIRS else ""
                # The file of a record's id is that of its twin, which was collected.
                name = entry.record_id if entry.record_kind == "Dataset" else _named(entry.record_id, files)
                name += place_of(entry, result) if entry.record_kind == "Table" else ""
                yield f"{entry.code:18} {name}{dataset}: {reason}"
    if not as_json:
        yield from (f"{code}: {n - most} more; --most shows them" for code, n in by_code.items() if n > most)


def place_of(table: Rejection, result: StoredResult) -> str:
    """Return the place of a table that is not read (`refused_place`)."""
    document = next(d for d in result.outputs() if isinstance(d, Document))
    blocks = (b for b in document.blocks if b.kind in (BlockKind.CAPTION, BlockKind.TABLE))
    block = next((b for b in blocks if document.text[b.start : b.end].startswith(table.record)), None)
    return refused_place(table.record, block.page if block else None)


def _named(record_id: str, files: Mapping[str, str]) -> str:
    """Return the id of a paper or its table, or (dataset, paper) ids, with the name of the paper's file."""
    paper = record_id.rpartition("|")[2]
    name = files.get(paper) or files.get(paper.rpartition("#")[0])
    return f"{record_id} ({name})" if name else record_id


def _line(text: str) -> str:
    return " ".join(text.split())


def _as_text(run: Path, view: StoreView, found: Mapping[str, Any]) -> str:
    lines = [f"{run}: {counted(found['datasets'], 'dataset')}, {found['datasets_waiting']} not complete"]
    if found["dropped_datasets"]:
        lines[0] += f"; {found['dropped_datasets']} of earlier runs left the catalogue or the selection"
    if names := _parts(view.manifest()):
        lines[0] += f"; merged from {', '.join(names)}"
    lines.append(f"{'stage':10}{'done':>7}{'to do':>7}{'failed':>8}{'out':>7}{'rejected':>10}  why")
    for stage, row in found["stages"].items():
        why = [f"{code} {n}" for code, n in sorted(row["rejected_by_code"].items(), key=lambda kn: -kn[1])]
        why += [f"not chosen {row['unchosen']}"] if row["unchosen"] else []
        why += [f"failed: {code} {n}" for code, n in sorted(row["failed_by_code"].items(), key=lambda kn: -kn[1])]
        failed = row["failed"] + row["partial"]
        lines.append(
            f"{stage:10}{row['done']:>7}{row['todo']:>7}{failed:>8}{row['outputs']:>7}{row['rejected']:>10}  "
            + ", ".join(why)
        )
    if found["error"]:
        lines.append(f"the last process ended with an error: {found['error']}")
    if found["links"]["links"]:
        lines.append(", ".join(f"{name.replace('_', ' ')} {n}" for name, n in found["links"].items()))
    if found["queries"]:
        lines.append("queries: " + ", ".join(f"{recipe} {n}" for recipe, n in found["queries"].items()))
    if own := found["own_questions"]:
        lines.append("your questions: " + ", ".join(f"{outcome} {n}" for outcome, n in own.items()))
    if idle := view.judged_nothing():
        lines.append(f"judged nothing: {', '.join(idle)}")
    if (run / "release" / "release.json").is_file() and (judge := judged_by(Release(run / "release").info)):
        lines.append(judge)
    if isinstance(usage := found["usage"], dict):  # of the manifest, which a foreign run may hold in another form
        lines += [_usage_line(role, row) for role, row in usage.items() if isinstance(row, dict)]
    if per_row := found["tokens_per_released_row"]:
        cached = f" ({per_row['cached']:,g} of them from the server's cache)" if per_row.get("cached") else ""
        sent, got = per_row.get("prompt", 0), per_row.get("reply", 0)
        lines.append(f"each released row took {sent:,g} prompt tokens{cached} and {got:,g} reply tokens of all models")
    if isinstance(last := found["usage_last_invocation"], dict):
        lines += [f"  last invocation, {_usage_line(role, row)}" for role, row in last.items() if isinstance(row, dict)]
    return "\n".join(lines)


def _usage_line(role: str, row: dict[str, object]) -> str:
    """Return the usage of one model; unknown sums are left out rather than guessed."""
    said = [f"{row['calls']:,} calls"]
    said += [f"{row['cache_hits']:,} replies from the cache"] if "cache_hits" in row else []
    for name, label in (
        ("prompt_tokens", "tokens in"),
        ("cached_prompt_tokens", "of them from the server's cache"),
        ("completion_tokens", "tokens out"),
        ("reasoning_tokens", "of them thinking"),
    ):
        if row.get(name) is not None and (row[name] or name != "cached_prompt_tokens"):
            said.append(f"{row[name]:,} {label}")
    for name, label in (
        ("retries", "retries"),
        ("failed_calls", "failed calls"),
        ("replies_without_token_counts", "replies without token counts"),
    ):
        if row.get(name):
            said.append(f"{row[name]:,} {label}")
    if row.get("cost") is not None:
        said.append(f"cost {row['cost']:.4f}")
    return f"{role}: {', '.join(said)}"
