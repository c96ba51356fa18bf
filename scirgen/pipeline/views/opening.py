"""Opens the view of a run's folder."""

from __future__ import annotations

from pathlib import Path

from scirgen.pipeline.store import Store
from scirgen.pipeline.views.merged_view import open_merged
from scirgen.pipeline.views.view import StoreView


def open_view(folder: Path) -> StoreView:
    """The view of a run's folder, or of a merged run with its parts. A run in progress is not disturbed.

    Raises:
        StoreError: the folder has no store, the store cannot be read, or a part of a merged run is missing.
    """
    store = Store(folder / "run.db", writable=False)
    try:
        return open_merged(store) or StoreView(store)
    except BaseException:
        store.close()
        raise
