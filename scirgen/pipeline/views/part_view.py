"""View of a run as part of a merged run: its store, without the data that comes from an earlier part. `merged_view`
joins the parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from scirgen.core.records import Record
from scirgen.pipeline.store import COLUMNS, RUN, Store, StoredResult
from scirgen.pipeline.views.view import StoreView


@dataclass(frozen=True)
class Part:
    """A part with its view."""

    name: str
    folder: Path
    view: PartView


class PartView(StoreView):
    """One part's store, without the datasets and the shared results that come from an earlier part."""

    _whole = (
        f"{StoreView._whole} AND m.stage<>'release' AND m.dataset_id NOT IN (SELECT id FROM temp.elsewhere) "
        "AND (m.result_id IS NULL OR m.result_id NOT IN (SELECT id FROM temp.repeated))"
    )

    def __init__(self, store: Store, elsewhere: Iterable[str] = ()) -> None:
        super().__init__(store)
        with store.guarded():
            store.db.execute("CREATE TEMP TABLE elsewhere(id TEXT PRIMARY KEY) WITHOUT ROWID")
            store.db.execute("CREATE TEMP TABLE repeated(id INTEGER PRIMARY KEY)")
        self.leave_out(elsewhere)

    def leave_out(self, dataset_ids: Iterable[str]) -> None:
        """Take these datasets from another part."""
        with self._store.guarded():
            self._store.db.executemany("INSERT OR IGNORE INTO temp.elsewhere VALUES(?)", ((i,) for i in dataset_ids))

    def mark_repeated(self, result_ids: Iterable[int]) -> None:
        """In queries about the whole run, take these results from another part."""
        with self._store.guarded():
            self._store.db.executemany("INSERT OR IGNORE INTO temp.repeated VALUES(?)", ((i,) for i in result_ids))

    def dataset_ids(self) -> list[str]:
        """Ids of the datasets that are taken from this part, sorted."""
        with self._store.guarded():
            left_out = {row[0] for row in self._store.db.execute("SELECT id FROM temp.elsewhere")}
        return [i for i in super().dataset_ids() if i not in left_out]

    def waiting(self) -> int:
        """Datasets of this part whose path is not complete."""
        with self._store.guarded():
            rows = self._store.db.execute("SELECT id FROM datasets WHERE fingerprint=''").fetchall()
        return len({row[0] for row in rows} & set(self.dataset_ids())) if rows else 0

    def pages(self) -> list[StoredResult]:
        """Records that this part's catalogue pages rejected."""
        with self._store.guarded():
            rows = self._store.db.execute(
                f"SELECT {COLUMNS} FROM members m JOIN results r ON r.id=m.result_id "
                f"WHERE m.dataset_id=? AND m.stage='collect' AND {self._whole} ORDER BY m.key",
                (RUN,),
            ).fetchall()
        return [StoredResult(*row) for row in rows]

    def finished(self) -> str:
        """Digest of the part's state when its whole catalogue was done; "" if it never was."""
        with self._store.guarded():
            return self._store.meta("finished") or ""

    def members_of(self, dataset_id: str) -> list[tuple[str, str, str, str, int]]:
        """Like `state`, for one dataset."""
        with self._store.guarded():
            return self._store.db.execute(
                "SELECT m.stage, m.key, r.fingerprint, r.status, r.id FROM members m JOIN results r ON r.id=m.result_id "
                "WHERE m.dataset_id=? ORDER BY 1,2,3",
                (dataset_id,),
            ).fetchall()

    def content(self, result_id: int) -> list[Record]:
        """Outputs and rejections of a result."""
        with self._store.guarded():
            row = self._store.db.execute(f"SELECT {COLUMNS} FROM results r WHERE r.id=?", (result_id,)).fetchone()
        result = StoredResult(*row)
        return [*result.outputs(), *result.rejections()]

    def find(self, record_id: str) -> list[tuple[str, StoredResult]]:
        """Like `StoreView.find`, without its own release and without results that belong only to datasets taken from
        another part."""
        with self._store.guarded():
            foreign = {
                row[0]
                for row in self._store.db.execute(
                    "SELECT w.result_id FROM rows w JOIN members m ON m.result_id=w.result_id WHERE w.record_id=? "
                    "GROUP BY 1 HAVING SUM(m.dataset_id NOT IN (SELECT id FROM temp.elsewhere))=0",
                    (record_id,),
                )
            }
        found = super().find(record_id)
        return [(kind, r) for kind, r in found if r.stage != "release" and r.id not in foreign]

    def _result_ids(self, stage: str, dataset_id: str | None) -> Iterable[int]:
        if dataset_id is not None:
            return super()._result_ids(stage, dataset_id)
        # No process writes to a part while it is read, so its results can be read one by one without holding all their
        # ids.
        return self._walk(stage)

    def _walk(self, stage: str) -> Iterator[int]:
        with self._store.guarded():
            for _, result_id in self._store.db.execute(
                "SELECT DISTINCT m.key, m.result_id FROM members m "
                f"WHERE m.stage=? AND m.result_id IS NOT NULL AND {self._whole} ORDER BY m.key, m.result_id",
                (stage,),
            ):
                yield result_id
