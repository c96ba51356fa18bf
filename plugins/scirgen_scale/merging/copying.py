"""Copies the current results of several runs into one store, by (stage, key, fingerprint)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from scirgen import Rejection, StageResult
from scirgen.pipeline.store import RUN, Store, result_hash
from scirgen.pipeline.views.view import CURRENT
from scirgen.plugin import StoreError, digest
from scirgen_scale.merging.parts import Part

_RESULT = (
    "stage, key, fingerprint, status, outputs, rejections, failures, n_outputs, n_rejections, seconds, finished, hash"
)
_BETTER = (
    "(excluded.status='done') > (results.status='done') OR (excluded.status='partial') > (results.status<>'failed')"
)
"""A result that failed in one part is taken from a part in which it succeeded."""


_OF_MODELS = {
    "replies": "ON CONFLICT DO NOTHING",
    "spent": "ON CONFLICT DO UPDATE SET calls=calls+excluded.calls, "
    "prompt_tokens=prompt_tokens+excluded.prompt_tokens, "
    "completion_tokens=completion_tokens+excluded.completion_tokens, uncounted=uncounted+excluded.uncounted, "
    "cached_tokens=cached_tokens+excluded.cached_tokens",
}
"""Tables of `scirgen.llm.cache`, and how rows of several parts with one key are joined."""


def copy_parts(store: Store, parts: Sequence[Part], taken: Mapping[str, Collection[str]]) -> None:
    """Replace everything in ``store`` by the current results of the parts, in one transaction.

    The release that the folder has stays known, so the same release is not written twice.

    Args:
        store: of the merged run.
        parts: opened runs.
        taken: part's name -> ids of the datasets that are taken from it.
    """
    with store.transaction():
        store.db.execute("DELETE FROM results WHERE stage<>'release'")
        for table in ("members", "datasets", "pages", "meta", *(_OF_MODELS.keys() & _tables(store))):
            store.db.execute(f"DELETE FROM {table}")
        store.db.execute("DELETE FROM rows WHERE result_id NOT IN (SELECT id FROM results)")
        said: set[str] = set()
        for part in parts:
            _copy_datasets(store, part, taken[part.name])
            _copy_page_rejections(store, part, said)
            _copy_replies(store, part)
        store.db.executemany("INSERT INTO meta VALUES(?,?)", [("run", "1"), ("collected", "1"), ("clean", "0")])


def _rows(part: Part, query: str, *parameters: object) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a part's store; an error in reading them names the part, one in writing them does not."""
    with part.view.store.guarded():
        yield from part.view.store.db.execute(query, parameters)


def _copy_datasets(store: Store, part: Part, ids: Collection[str]) -> None:
    """Datasets with their items, the results that these point at, and the index of their records."""
    (count,) = store.db.execute("SELECT COUNT(*) FROM datasets").fetchone()
    found = _rows(part, f"SELECT id, position, fingerprint FROM datasets WHERE id IN {CURRENT} ORDER BY position, id")
    chosen = [(id, count + position, fingerprint) for id, position, fingerprint in found if id in ids]
    store.db.executemany("INSERT INTO datasets(id, position, seen, fingerprint) VALUES(?,?,1,?)", chosen)
    number: dict[int | None, int | None] = {None: None}
    for dataset_id, _, _ in chosen:
        for stage, key, result_id, round in _rows(
            part, "SELECT stage, key, result_id, round FROM members WHERE dataset_id=?", dataset_id
        ):
            if result_id not in number:
                number[result_id] = _copy_result(store, part, result_id)
            store.db.execute(
                "INSERT INTO members VALUES(?,?,?,?,?)", (dataset_id, stage, key, number[result_id], round)
            )


def _copy_result(store: Store, part: Part, result_id: int) -> int:
    """Copy one result, unless the store has an equal or a better one; returns its number in the store.

    Raises:
        StoreError: the result is damaged.
    """
    (row,) = _rows(part, f"SELECT {_RESULT} FROM results WHERE id=?", result_id)
    if row[-1] != result_hash(*row[:7]):
        raise StoreError(
            f"{part.folder}: the result of {row[0]} {row[1]} is damaged",
            hint=f"Run: scirgen doctor {part.folder} --repair",
            code="corrupt",
        )
    taken = store.db.execute(
        f"INSERT INTO results({_RESULT}) VALUES({','.join('?' * len(row))}) ON CONFLICT(stage, key, fingerprint) "
        "DO UPDATE SET status=excluded.status, outputs=excluded.outputs, rejections=excluded.rejections, "
        "failures=excluded.failures, n_outputs=excluded.n_outputs, n_rejections=excluded.n_rejections, "
        f"seconds=excluded.seconds, finished=excluded.finished, hash=excluded.hash WHERE {_BETTER} RETURNING id",
        row,
    ).fetchone()
    if taken is None:
        found = store.get(*row[:3])
        assert found is not None
        return found.id
    number = int(taken[0])
    store.db.execute("DELETE FROM rows WHERE result_id=?", (number,))
    index = _rows(part, "SELECT kind, record_id, code, question_type FROM rows WHERE result_id=?", result_id)
    store.db.executemany("INSERT INTO rows VALUES(?,?,?,?,?)", ((number, *entry) for entry in index))
    return number


def _copy_page_rejections(store: Store, part: Part, said: set[str]) -> None:
    """Copy the records that the part's catalogue pages rejected; a record that several parts rejected counts once."""
    for result in part.view.results("collect", RUN):
        fresh = tuple(r for r in result.rejections() if _new(r, said))
        if fresh:
            key = f"{result.key} of {part.name}"
            stored = store.put("collect", key, result.fingerprint, StageResult(rejections=fresh), 0.0)
            store.use(RUN, "collect", key, stored.id)


def _new(rejection: Rejection, said: set[str]) -> bool:
    name = digest(rejection.model_dump(mode="json", exclude={"provenance"}))
    if name in said:
        return False
    said.add(name)
    return True


def _copy_replies(store: Store, part: Part) -> None:
    """Copy the replies that the part paid for, and what it spent; a resumed run and `scirgen inspect` read them."""
    theirs, mine = _tables(part.view.store), _tables(store)
    for table in _OF_MODELS.keys() & theirs.keys():
        if table not in mine:
            store.db.execute(theirs[table])
        columns = [row[1] for row in part.view.store.db.execute(f"PRAGMA table_info({table})")]
        marks = ",".join("?" * len(columns))
        store.db.executemany(
            f"INSERT INTO {table}({','.join(columns)}) VALUES({marks}) {_OF_MODELS[table]}",
            _rows(part, f"SELECT {','.join(columns)} FROM {table}"),
        )


def _tables(store: Store) -> dict[str, str]:
    """Return a mapping: table -> the statement that makes it."""
    return dict(store.db.execute("SELECT name, sql FROM sqlite_master WHERE type='table'").fetchall())
