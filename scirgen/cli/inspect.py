"""``scirgen inspect RUN ID``: a row's whole ancestry."""

from __future__ import annotations

import json
from pathlib import Path

import click

from scirgen.core.errors import InputError
from scirgen.core.records import Provenance, QAPair, Record, Rejection, Span
from scirgen.pipeline.serial import record_id
from scirgen.pipeline.store import StoredResult
from scirgen.pipeline.view import StoreView


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("id")
@click.option("--json", "as_json", is_flag=True, help="The records as JSON lines.")
@click.option("--replies/--no-replies", default=True, help="Show prompts and raw replies.")
def inspect(run: Path, id: str, as_json: bool, replies: bool) -> None:
    """Show where a row came from: span in the page, prompt, raw reply, scores, gates."""
    view = StoreView.open(run)
    try:
        warn_of_changes(view)
        found = _find(view, id)
        shown: set[str] = set()
        for kind, result in found:
            for record in _records(result, id, kind):
                if as_json:
                    click.echo(record.model_dump_json(exclude_defaults=True))
                    continue
                _show_record(view, result, record)
                origin = getattr(record, "provenance", None)
                if replies and origin is not None:
                    _show_replies(view, origin, shown)
    finally:
        view.close()


def warn_of_changes(view: StoreView) -> None:
    """Say on standard error which parts of a merged run are no longer what was merged."""
    if changed := view.changed():
        click.echo(f"note: {', '.join(changed)} changed after being merged; merge again to release that", err=True)


def _find(view: StoreView, id: str) -> list[tuple[str, StoredResult]]:
    found = view.find(id)
    if found:
        return found
    near = view.complete_id(id)
    if len(near) == 1 and (found := view.find(near[0])):
        return found
    hint = (
        f"It could be: {', '.join(near)}"
        if len(near) > 1
        else "Ids are in release/*.jsonl and in: scirgen status RUN --json"
    )
    raise InputError(f"no record {id!r} in this run", hint=hint)


def _records(result: StoredResult, id: str, kind: str) -> list[Record]:
    pool: list[Record] = [*result.outputs(), *result.rejections()]
    return [r for r in pool if type(r).__name__ == kind and record_id(r).startswith(id)]


def _show_record(view: StoreView, result: StoredResult, record: Record) -> None:
    click.secho(f"\n== {result.stage}: {type(record).__name__} {record_id(record)}", bold=True)
    click.echo(f"   item {result.key}  fingerprint {result.fingerprint[:12]}")
    if part := view.part_of(str(getattr(record, "dataset_id", None) or record_id(record))):
        click.echo(f"   part {part}")
    if isinstance(record, Rejection):
        score = f" (score {record.score:.4g})" if record.score is not None else ""
        click.echo(f"   rejected as {record.code}: {record.reason}{score}")
        click.echo(f"   {record.record[:600]}")
        return
    if isinstance(record, QAPair):
        click.echo(
            f"   Q [{record.question_type}, {record.bloom or 'untagged'}] {record.question}\n   A {record.answer}"
        )
        for span in record.evidence:
            _show_span(view, span)
        for measured in record.scores:
            verdict = {True: "passed", False: "failed", None: "measured"}[measured.passed]
            limit = f" (threshold {measured.threshold:g})" if measured.threshold is not None else ""
            click.echo(f"   score {measured.name} {measured.value:.4f}{limit} {verdict} {measured.model or ''}")
        return
    text = record.model_dump_json(exclude_defaults=True, exclude={"text", "blocks", "provenance"})
    click.echo(f"   {text[:1200]}")
    for span in [getattr(record, "span", None), *getattr(record, "evidence", ())]:
        if isinstance(span, Span):
            _show_span(view, span)


def _show_span(view: StoreView, span: Span) -> None:
    place = f"page {span.page}" if span.page else "no page"
    box = " box " + ",".join(f"{v:.0f}" for v in span.bbox) if span.bbox else ""
    paper = next(
        (r for kind, result in view.find(span.document_id) if kind == "Document" for r in result.outputs()), None
    )
    where = getattr(paper, "paper_id", "dataset metadata" if paper is None else "")
    click.echo(f"   evidence {where} {place}{box} [{span.start}:{span.end}] {span.section or ''}\n     “{span.text}”")


def _show_replies(view: StoreView, origin: Provenance, shown: set[str]) -> None:
    if origin.prompt:
        click.echo(f"   prompt {origin.prompt}  model {origin.model}")
    for key in origin.replies:
        if key in shown:
            continue
        shown.add(key)
        reply = view.reply(key)
        if reply is None:
            click.echo(f"   reply {key[:12]}: no longer in the store")
            continue
        request, text = reply
        click.secho(f"   -- request {key[:12]}", dim=True)
        try:
            for message in json.loads(request).get("messages", []):
                role, content = (message["role"], message["content"]) if isinstance(message, dict) else message
                click.echo(f"      [{role}] " + str(content).replace("\n", "\n      "))
        except ValueError:
            click.echo("      " + request[:2000])
        click.secho(f"   -- reply {key[:12]}", dim=True)
        click.echo("      " + text.replace("\n", "\n      "))
