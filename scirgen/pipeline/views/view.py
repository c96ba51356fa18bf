"""Read-only view of the current state of a run, for the release, the report, `status` and `inspect`."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Self, TypeVar, cast

from scirgen.core.corpus.questions import Fate, Question, Unanswered, fates
from scirgen.core.grouped import grouped
from scirgen.core.records import Aspect, Dataset, Link, Paper, QAPair, Record, Rejection, ReleaseFile, SectionLabel
from scirgen.pipeline.plan import PLAN, WRITERS
from scirgen.pipeline.record_codec import record_id, unpacked
from scirgen.pipeline.store import COLUMNS, RUN, Store, StoredResult
from scirgen.release_files.release import SPLITS
from scirgen.stages.base import StageContext

R = TypeVar("R", bound=Record)

MERGED = "merged"
"""Key of the store's settings that marks a merged run: notes for the card, as a JSON list."""

SUBJECTS = "subjects"
"""Key of the ids of the datasets that pairs are made about, as a JSON list; empty: all."""

_COLLECTED = "COALESCE((SELECT CAST(value AS INTEGER) FROM meta WHERE key='collected'), 0)"
"""Number of the last run that read its catalogue to the end; datasets that were last seen earlier have left."""

CURRENT = f"(SELECT id FROM datasets WHERE seen >= {_COLLECTED} UNION SELECT '{RUN}')"


class StoreView:
    """`scirgen.stages.base.RunView` over a store. Iterators hold one result at a time."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def close(self) -> None:
        """Close the underlying file."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def dataset_ids(self) -> list[str]:
        """Return the ids of the datasets of this run, sorted."""
        return [row[0] for row in self.store.rows(f"SELECT id FROM datasets WHERE id IN {CURRENT} ORDER BY id")]

    def subjects(self) -> tuple[str, ...]:
        """See `scirgen.stages.base.RunView`."""
        text = self.store.meta(SUBJECTS)
        return tuple(json.loads(text)) if text else tuple(self.dataset_ids())

    def stages(self) -> tuple[str, ...]:
        """See `scirgen.stages.base.RunView`."""
        text = self.store.meta("steps")
        return tuple(json.loads(text)) if text else tuple(step.stage for step in PLAN)

    def dropped_datasets(self) -> int:
        """Return the number of datasets of earlier runs that the catalogue, or the selection, no longer has."""
        return int(self.store.row(f"SELECT COUNT(*) FROM datasets WHERE seen < {_COLLECTED}")[0])

    def datasets(self) -> Iterator[Dataset]:
        return self.records("collect", Dataset)

    def results(self, stage: str, dataset_id: str | None = None) -> Iterator[StoredResult]:
        """Yield the current results of a stage by key; shared results occur once."""
        for result_id in self._result_ids(stage, dataset_id):
            if row := self.store.row(f"SELECT {COLUMNS} FROM results r WHERE r.id=?", result_id):
                yield StoredResult(*row)

    def _result_ids(self, stage: str, dataset_id: str | None) -> Iterable[int]:
        where, parameters = ("m.dataset_id=?", [dataset_id]) if dataset_id else (f"m.dataset_id IN {CURRENT}", [])
        found = self.store.rows(
            "SELECT DISTINCT m.key, m.result_id FROM members m "
            f"WHERE m.stage=? AND m.result_id IS NOT NULL AND {where} ORDER BY m.key, m.result_id",
            stage,
            *parameters,
        )
        return (result_id for _, result_id in found)

    def records(self, stage: str, kind: type[R], dataset_id: str | None = None) -> Iterator[R]:
        """Yield the current outputs of one record class."""
        for result in self.results(stage, dataset_id):
            yield from unpacked(result.outputs_blob, kind)

    def rejections(self, stage: str | None = None, dataset_id: str | None = None) -> Iterator[Rejection]:
        """Yield the rejections, by stage and key."""
        for name in [stage] if stage else self.stages():
            for result in self.results(name, dataset_id):
                yield from unpacked(result.rejections_blob, Rejection)

    def uses(self) -> dict[str, tuple[str, ...]]:
        """Return a mapping: dataset id -> ids of the papers judged to use it, both sorted."""
        current = set(self.dataset_ids())
        links = (k for k in self.records("match", Link) if k.used and k.dataset_id in current)
        found = grouped((link.dataset_id, link.paper_id) for link in links)
        return {dataset_id: tuple(sorted(set(papers))) for dataset_id, papers in sorted(found.items())}

    def pairs(self, dataset_ids: Iterable[str] | None = None) -> Iterator[QAPair]:
        """Yield the accepted and tagged pairs of these datasets, or of all by id; each dataset's by pair id."""
        for dataset_id in self.dataset_ids() if dataset_ids is None else dataset_ids:
            pairs = {p.id: p for p in self.records("tag", QAPair, dataset_id)}
            yield from (pairs[i] for i in sorted(pairs))

    def within_target(self, ctx: StageContext, releasable: frozenset[str]) -> tuple[frozenset[str], tuple[str, ...]]:
        """See `scirgen.stages.base.RunView`."""
        from scirgen.pipeline.rounds import falls_short  # here, since most views are opened to be shown
        from scirgen.stages.generate.quotas import within_target

        if ctx.config.generate.quota.total is None:
            pairs = [p for p in self.pairs() if p.id in releasable]  # without the rows that plugins add
            return releasable, tuple(falls_short(self, ctx, sum(p.sought for p in pairs), len(pairs)))
        kept, lines, people, rows = within_target(self, ctx, releasable)
        return kept, (*lines[:1], *falls_short(self, ctx, people, rows), *lines[1:])

    def judged_nothing(self) -> tuple[str, ...]:
        """Return the gates and scorers that judged no pair, and why, as the manifest states them."""
        listed = self.manifest().get("judged_nothing")
        return tuple("{kind} {name} ({reason})".format(**one) for one in (listed if isinstance(listed, list) else ()))

    def released_rows(self) -> dict[str, int]:
        """Return the number of rows of the release by split; empty before the first release."""
        rows = {f.path: f.rows or 0 for f in self.records("release", ReleaseFile)}
        return {split: rows[path] for split in SPLITS if (path := f"release/{split}.jsonl") in rows}

    def tokens_per_released_row(self) -> dict[str, float]:
        """Return the tokens of all models per row of the release: ``prompt``, of which ``cached`` came from servers'
        caches, and ``reply``.

        Empty before the first release, or if the backend counts no tokens.
        """
        rows = sum(self.released_rows().values())
        usage = self.manifest().get("usage")
        roles = [role for role in usage.values() if isinstance(role, dict)] if isinstance(usage, dict) else []
        if not roles or not rows:
            return {}
        names = {"prompt": "prompt_tokens", "cached": "cached_prompt_tokens", "reply": "completion_tokens"}
        found = {
            name: [n for r in roles if isinstance(n := r.get(field), int | float)] for name, field in names.items()
        }
        return {name: round(sum(counts) / rows, 1) for name, counts in found.items() if counts}

    def funnel(self) -> dict[str, dict[str, int]]:
        """Return a mapping: stage -> done, partial, failed, todo, outputs, and ``rejected:<code>`` / ``failed:<code>``
        counts.

        Question types that a writer was offered and did not choose are ``unchosen``: nothing was rejected.
        """
        table: dict[str, dict[str, int]] = {
            stage: {"done": 0, "partial": 0, "failed": 0, "todo": 0, "outputs": 0, "rejected": 0}
            for stage in self.stages()
        }
        current = (
            f"(SELECT DISTINCT m.stage, m.key, m.result_id FROM members m WHERE m.dataset_id IN {CURRENT}) m "
            "LEFT JOIN results r ON r.id=m.result_id"
        )
        for stage, status, count, outputs, rejected in self.store.rows(
            "SELECT m.stage, COALESCE(r.status,'todo'), COUNT(*), TOTAL(r.n_outputs), TOTAL(r.n_rejections) "
            f"FROM {current} GROUP BY 1,2"
        ):
            row = table.setdefault(stage, {})
            row[status] = row.get(status, 0) + count
            row["outputs"] = row.get("outputs", 0) + int(outputs)
            row["rejected"] = row.get("rejected", 0) + int(rejected)
        for writer in {*WRITERS} & {*table}:  # further records of the same calls are no candidates
            (table[writer]["outputs"],) = self.store.row(
                f"SELECT COUNT(*) FROM {current} JOIN rows w ON w.result_id=r.id "
                f"WHERE m.stage='{writer}' AND w.kind='QAPair'"
            )
        for stage, kind, code, count in self.store.rows(
            f"SELECT m.stage, w.kind, w.code, COUNT(*) FROM {current} JOIN rows w ON w.result_id=r.id "
            "WHERE w.code IS NOT NULL GROUP BY 1,2,3 ORDER BY 1,2,3"
        ):
            name = ("rejected:" if kind == "Rejection" else "failed:") + code
            if name == "rejected:unchosen":
                table[stage]["unchosen"], table[stage]["rejected"] = count, table[stage]["rejected"] - count
                continue
            table[stage][name] = table[stage].get(name, 0) + count
        return table

    def asked(self) -> dict[str, int]:
        """Count the questions asked first: asked, answered, narrowed, not here; empty if there are none."""
        kinds = dict(
            self.store.rows(
                "SELECT w.kind, COUNT(*) FROM (SELECT DISTINCT m.result_id FROM members m "
                f"WHERE m.stage='answer' AND m.dataset_id IN {CURRENT}) m JOIN rows w ON w.result_id=m.result_id "
                "WHERE w.code IS NULL GROUP BY 1"
            )
        )
        asked = self.funnel().get("ask", {}).get("outputs", 0)
        names = {"answered": "QAPair", "narrowed": "Question", "not here": "Unanswered"}
        return {"asked": asked, **{name: kinds.get(kind, 0) for name, kind in names.items()}} if asked else {}

    def own_questions(self) -> list[Fate]:
        """Return what became of the user's questions (``generate.questions``), those without a row first."""
        accepted = (p for p in self.pairs() if p.asked == "user")
        unanswered, asked = self.records("answer", Unanswered), self.records("ask", Question)
        return fates(asked, unanswered, accepted, chain.from_iterable(map(self.rejections, _DECIDING)))

    def rejected_by_type(self) -> dict[str, dict[str, int]]:
        """Return a mapping: question type -> rejection code -> count, over generate and filter."""
        table: dict[str, dict[str, int]] = {}
        for question_type, code, count in self.store.rows(
            "SELECT w.question_type, w.code, COUNT(*) FROM "
            f"(SELECT DISTINCT m.result_id FROM members m WHERE m.dataset_id IN {CURRENT}) m "
            "JOIN rows w ON w.result_id=m.result_id "
            "WHERE w.kind='Rejection' AND w.question_type IS NOT NULL GROUP BY 1,2 ORDER BY 1,2"
        ):
            table.setdefault(question_type, {})[code] = count
        return table

    def queries_by_recipe(self) -> dict[str, int]:
        """Return a mapping: recipe -> number of retrieval queries; empty if no recipe ran."""
        recipes = {record_id(query): str(getattr(query, "recipe", "")) for query in self.records("query", Record)}
        return dict(sorted(Counter(recipes.values()).items()))

    def content(self, *stages: str) -> str:
        """See `scirgen.stages.base.RunView`."""
        with self.store.guarded():
            rows = self.store.db.execute(
                "SELECT DISTINCT m.stage, m.key, r.fingerprint, r.status FROM members m JOIN results r "
                f"ON r.id=m.result_id WHERE m.stage IN ({','.join('?' * len(stages))}) AND m.dataset_id IN {CURRENT} "
                f"AND m.dataset_id<>'{RUN}' ORDER BY 1,2,3,4",
                stages,
            )
            return digest_of(rows)

    def state_digest(self) -> str:
        """Return the hash of all current results before release; part of a release's fingerprint."""
        return digest_of(row[:4] for row in self.state())

    def state(self) -> Iterator[tuple[str, str, str, str, int]]:
        """Yield (stage, key, fingerprint, status, the result's number in the store) of all current results before
        release, sorted."""
        with self.store.guarded():
            yield from self.store.db.execute(
                "SELECT DISTINCT m.stage, m.key, r.fingerprint, r.status, r.id "
                "FROM members m JOIN results r ON r.id=m.result_id "
                f"WHERE m.stage<>'release' AND m.dataset_id IN {CURRENT} ORDER BY 1,2,3,4"
            )

    def notes(self) -> tuple[str, ...]:
        """See `scirgen.stages.base.RunView`."""
        steps = json.loads(self.store.meta("steps") or "{}")
        replaced = steps.items() if isinstance(steps, dict) else ()  # earlier versions stored the names alone
        named = (f"The step {step} was replaced by {by}." for step, by in replaced if by)
        return (*json.loads(self.store.meta(MERGED) or "[]"), *named)

    def waiting(self) -> int:
        """Return the datasets of this run whose path is not complete."""
        return int(self.store.row(f"SELECT COUNT(*) FROM datasets WHERE fingerprint='' AND id IN {CURRENT}")[0])

    def find(self, record_id: str) -> list[tuple[str, StoredResult]]:
        """Return (record class, result) of every current result that mentions the id, in the order of the stages."""
        rows = self.store.rows(
            f"SELECT w.kind, {COLUMNS} FROM rows w JOIN results r ON r.id=w.result_id WHERE w.record_id=? "
            f"AND EXISTS (SELECT 1 FROM members m WHERE m.result_id=r.id AND m.dataset_id IN {CURRENT}) "
            "ORDER BY r.id",
            record_id,
        )
        order = {stage: n for n, stage in enumerate(self.stages())}
        return [(row[0], StoredResult(*row[1:])) for row in sorted(rows, key=lambda row: order.get(row[2], len(order)))]

    def complete_id(self, prefix: str) -> list[str]:
        """Record ids that begin with ``prefix`` (at most ten)."""
        rows = self.store.rows(
            "SELECT DISTINCT w.record_id FROM rows w WHERE w.record_id >= ? AND w.record_id < ? AND EXISTS "
            f"(SELECT 1 FROM members m WHERE m.result_id=w.result_id AND m.dataset_id IN {CURRENT}) LIMIT 10",
            prefix,
            prefix + "\U0010ffff",
        )
        return [row[0] for row in rows]

    def reply(self, key: str) -> tuple[str, str] | None:
        """Return (request JSON, raw reply) of a cached model reply."""
        from scirgen.llm.cache import ReplyCache

        found = ReplyCache(self.store.writer).peek(key)
        return (found.request, found.text) if found else None

    def manifest(self) -> dict[str, object]:
        """Return the run's manifest as last written, or {} before the first."""
        text = self.store.meta("manifest")
        loaded: dict[str, object] = json.loads(text) if text else {}
        return loaded


def digest_of(state: Iterable[Sequence[str]]) -> str:
    """Return the hash of a state's rows, as in `StoreView.state_digest`."""
    hasher = hashlib.sha256()
    for row in state:
        hasher.update("\x1f".join(row).encode() + b"\n")
    return hasher.hexdigest()


_DECIDING = ("answer", "filter", "release")
"""Steps that reject answers."""


def open_view(folder: Path) -> StoreView:
    """Return the view of a run's folder. A run in progress is not disturbed.

    Raises:
        InputError: the folder has no store.
        StoreError: the store cannot be read.
    """
    return StoreView(Store(folder / "run.db", writable=False))


_OF_PAPERS: dict[str, type[SectionLabel | Link | Aspect]] = {
    "section": SectionLabel,
    "match": Link,
    "extract": Aspect,
    "verify": Aspect,
}
"""Stages whose model calls concern one paper, and the records that they make."""


@dataclass(frozen=True)
class CostlyPaper:
    """A paper, and the model calls whose replies are in its records: stage -> calls."""

    paper_id: str
    title: str
    calls: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.calls.values())


def costliest_papers(view: StoreView, most: int = 5) -> tuple[CostlyPaper, ...]:
    """Return the papers by descending number of calls. A call that made no record (it found nothing in a section) is
    not counted."""
    calls: dict[str, Counter[str]] = defaultdict(Counter)
    for stage, kind in _OF_PAPERS.items():
        for result in view.results(stage):
            records = cast("Iterator[SectionLabel | Link | Aspect]", unpacked(result.outputs_blob, kind))
            replies = {(r.paper_id, reply) for r in records if r.provenance for reply in r.provenance.replies}
            for paper_id, _ in replies:
                calls[paper_id][stage] += 1
    first = sorted(calls, key=lambda p: (-calls[p].total(), p))[:most]
    titles = {p.id: p.title for p in view.records("collect", Paper) if p.id in first} if first else {}
    return tuple(CostlyPaper(p, titles.get(p, ""), dict(calls[p])) for p in first)
