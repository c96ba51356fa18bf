"""``scirgen inspect RUN ID``: shows everything that a row was made from, or what a passage of the release is for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import TypeVar

import click
import yaml

from scirgen.cli.options import PATH, counted
from scirgen.core.corpus.questions import Question
from scirgen.core.errors import InputError, PluginError
from scirgen.core.records import Dataset, Document, Paper, Provenance, QAPair, Record, Rejection, Span, rejected_pair
from scirgen.core.text.tame import visible
from scirgen.pipeline.plan import PLAN
from scirgen.pipeline.record_codec import record_class, record_id
from scirgen.pipeline.store import StoredResult
from scirgen.pipeline.views.view import StoreView, open_view
from scirgen.release_files.release import Release

R = TypeVar("R", bound=Record)
_WIDTH, _MOST_LINES = 110, 40
_NESTED = {"question": {"provenance": True}}


@click.command()
@click.argument("run", type=PATH)
@click.argument("id")
@click.option("--json", "as_json", is_flag=True, help="The records as JSON lines.")
@click.option("--prompt", "prompts", is_flag=True, help="Also show the prompts and the raw replies.")
def inspect(run: Path, id: str, as_json: bool, prompts: bool) -> None:
    """Show where a row comes from: place on the page, scores, gates; with --prompt, the calls that made it.

    ID may be your own id of a question. For a passage's id, show its document, its text and the rows for which it is
    graded.
    """
    with open_view(run) as view:
        if not view.find(id) and _show_passage(run / "release", id, as_json):
            return
        id = _complete(view, id)
        shown: set[str] = set()
        rows: set[str] = set()
        pair: QAPair | None = None
        for kind, result in view.find(id):
            for record in _records(result, id, kind):
                pair = record if isinstance(record, QAPair) else pair
                if as_json:
                    click.echo(record.model_dump_json(exclude_defaults=True))
                    continue
                if isinstance(record, QAPair) and record.id in rows:
                    _show_later(view, result, record)
                else:
                    _show_record(view, result, record, shown_before=record_id(record) in rows)
                    rows.add(record_id(record))
                origin = getattr(record, "provenance", None)
                if origin is not None:
                    _show_replies(view, origin, shown, whole=prompts)
        for stage, parts in _parts_of(view, pair) if pair is not None else ():
            if not as_json:
                click.secho(f"\n== {stage}: {counted(len(parts), type(parts[0]).__name__)}", bold=True)
            for part in parts:
                if as_json:
                    click.echo(part.model_dump_json(exclude_defaults=True))
                else:
                    _show_fields(view, part, "dataset_id", "pair_id")


def _show_passage(folder: Path, id: str, as_json: bool) -> bool:
    """Show a passage of the release; False if there is none with this id."""
    if not (folder / "corpus/passages.jsonl").is_file():
        return False
    release = Release(folder)
    passage = next((p for p in release.passages() if p.id == id), None)
    if passage is None:
        return False
    grades = {query: found[id] for query, found in release.passage_qrels(None).items() if id in found}
    if as_json:
        click.echo(passage.model_dump_json(exclude_defaults=True))
        click.echo(json.dumps({"grades": grades}))
        return True
    click.secho(f"\n== release: Passage {id}", bold=True)
    click.echo(f"   document {passage.document_id} [{passage.start}:{passage.end}] “{passage.title}” {passage.heading}")
    click.echo(f"   “{passage.text}”\n   graded for {counted(len(grades), 'row')}")
    for row in sorted((r for r in release.rows() if r.id in grades), key=lambda r: -grades[r.id]):
        click.echo(f"   grade {grades[row.id]} {row.id} {row.question}")
    return True


def _complete(view: StoreView, id: str) -> str:
    """Return the id of a record, given whole, by its beginning, or as the user's own id of a question."""
    if view.find(id):
        return id
    own = [p.id for p in view.pairs() if p.given_id == id]
    own += [q.id for q in view.records("ask", Question) if q.given_id == id]
    near = own[:1] or view.complete_id(id)
    if len(near) == 1:
        return near[0]
    hint = (
        f"It could be: {', '.join(near)}"
        if len(near) > 1
        else "Ids are in release/*.jsonl and in: scirgen status RUN --reasons STAGE --json"
    )
    raise InputError(f"no record {id!r} in this run", hint=hint)


def _records(result: StoredResult, id: str, kind: str) -> list[Record]:
    pool: list[Record] = [*result.outputs(), *result.rejections()]
    return [r for r in pool if type(r).__name__ == kind and record_id(r).startswith(id)]


def _show_record(view: StoreView, result: StoredResult, record: Record, *, shown_before: bool) -> None:
    click.secho(f"\n== {result.stage}: {type(record).__name__} {record_id(record)}", bold=True)
    click.echo(f"   item {result.key}  fingerprint {result.fingerprint[:12]}")
    if isinstance(record, Rejection):
        score = f" (score {record.score:.4g})" if record.score is not None else ""
        click.echo(f"   rejected as {record.code}: {record.reason}{score}")
        pair = rejected_pair(record)
        if pair is None:
            try:
                _show_fields(view, record_class(record.record_kind).model_validate_json(record.record))
            except (PluginError, ValueError):  # a text, or what a plugin made that is gone
                click.echo("   " + record.record[:600].replace("\n", "\n   "))
            return
        if not shown_before:
            _show_pair(view, pair)
        show_scores(pair)
        return
    if isinstance(record, QAPair):
        _show_pair(view, record)
        return
    _show_fields(view, record)


def _show_fields(view: StoreView, record: Record, *left_out: str) -> None:
    """Show a record's fields as YAML, then its evidence."""
    hidden = {"id", "provenance", "span", "evidence", *left_out, *(("text", "blocks") * isinstance(record, Document))}
    fields = record.model_dump(mode="json", exclude_defaults=True, exclude={**dict.fromkeys(hidden, True), **_NESTED})
    lines = yaml.safe_dump(fields, allow_unicode=True, sort_keys=False, width=_WIDTH).splitlines()
    click.echo("\n".join(f"   {line}" for line in lines[:_MOST_LINES]) + "\n   ..." * (len(lines) > _MOST_LINES))
    spans = [getattr(record, "span", None), *getattr(record, "evidence", ())]
    _show_spans(view, [span for span in spans if isinstance(span, Span)])


def _parts_of(view: StoreView, pair: QAPair) -> Iterator[tuple[str, list[Record]]]:
    """Yield (step, records) of the steps of plugins that have records about a pair, such as its atomic facts."""
    for stage in sorted({*view.stages()} - {step.stage for step in PLAN}):
        records = [r for result in view.results(stage, pair.dataset_id) for r in result.outputs()]
        if about := [r for r in records if getattr(r, "pair_id", "") == pair.id]:
            yield stage, about


def _show_pair(view: StoreView, pair: QAPair) -> None:
    click.echo(
        f"   Q [{pair.question_type or 'no type'}] {pair.question}\n   A {pair.answer}"
        + (f"\n   note {pair.note}" if pair.note else "")
    )
    click.echo(f"   dataset {pair.dataset_id}{_titled(view, pair.dataset_id)}")
    _show_spans(view, pair.evidence)


def show_scores(pair: QAPair) -> None:
    """Show each score with its threshold and reason, and the doubts that the judge looked at."""
    for doubt in pair.doubts:
        click.echo(f"   doubt {doubt.code}: {doubt.reason}" + ("; evidence mended" if pair.mended else ""))
    for measured in pair.scores:
        if measured.abstained:
            click.echo(f"   score {measured.name} nothing to measure: {measured.detail}")
            continue
        verdict = "unsure" if measured.unsure else {True: "passed", False: "failed", None: "measured"}[measured.passed]
        limit = f" (threshold {measured.threshold:g})" if measured.threshold is not None else ""
        click.echo(f"   score {measured.name} {measured.value:.4f}{limit} {verdict} {measured.model or ''}")
        if measured.detail and verdict != "passed":  # it may say what speaks against the pair
            click.echo(f"      {measured.detail}")


def _show_later(view: StoreView, result: StoredResult, pair: QAPair) -> None:
    """Show what this stage added to a pair that was already shown."""
    click.secho(f"\n== {result.stage}: QAPair {pair.id}", bold=True)
    click.echo(f"   item {result.key}  fingerprint {result.fingerprint[:12]}")
    if result.stage == "filter":
        if passed := _gates(view, pair):
            click.echo(f"   gates passed: {', '.join(passed)}")
        show_scores(pair)
    elif pair.bloom:
        intended = f" (requested: {pair.intended_bloom})" if pair.intended_bloom else ""
        click.echo(f"   level {pair.bloom}{intended}")


def _show_spans(view: StoreView, spans: Iterable[Span]) -> None:
    """Show evidence under the name of its document: the place, then the text, a table's cell after its headers."""
    for document_id, found in groupby(spans, key=lambda span: span.document_id):
        document = _record(view, document_id, Document)
        where = "dataset metadata"
        if document is not None:
            paper = _record(view, document.paper_id, Paper)
            file = f" ({Path(paper.file).name})" if paper is not None and paper.file else ""
            title = (paper.title if paper is not None else "") or document.title
            where = f"{document.paper_id}{file}" + (f" “{title}”" if title else "")
        click.echo(f"   evidence {where}")
        for span in found:
            page = f"page {span.page} " if span.page else ""
            box = "box " + ",".join(f"{v:.0f}" for v in span.bbox) + " " if span.bbox else ""
            kind = [span.section.value if span.section else "", span.medium if span.medium != "text" else "", span.role]
            place = f"{page}{box}[{span.start}:{span.end}] {' '.join(k for k in kind if k and k != 'answer')}"
            click.echo(f"     {place.rstrip()}\n       “{span.shown}”")


def _record(view: StoreView, id: str, kind: type[R]) -> R | None:
    """Return the newest record of a class with this id."""
    for name, result in reversed(view.find(id)):
        if name == kind.__name__:
            return next((r for r in result.outputs() if isinstance(r, kind) and record_id(r) == id), None)
    return None


def _titled(view: StoreView, dataset_id: str) -> str:
    dataset = _record(view, dataset_id, Dataset)
    return f" “{dataset.title}”" if dataset is not None else ""


def _gates(view: StoreView, pair: QAPair) -> list[str]:
    """Return the gates of the run's manifest that did not doubt the pair."""
    used = view.manifest().get("filter")
    gates = used.get("gates", ()) if isinstance(used, dict) else ()
    return [str(code) for code in gates if code not in {d.code for d in pair.doubts}]


def _show_replies(view: StoreView, origin: Provenance, shown: set[str], *, whole: bool) -> None:
    if origin.prompt:
        more = "" if whole else "  (--prompt shows it and the reply)"
        click.echo(f"   prompt {origin.prompt}  model {origin.model}{more}")
    for key in origin.replies if whole else ():
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
        click.echo("      " + visible(text).replace("\n", "\n      "))
