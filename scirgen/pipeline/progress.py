"""Progress on the screen: live bars on a terminal and in a notebook, plain lines elsewhere."""

from __future__ import annotations

import importlib
import io
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.table import Table

from scirgen.pipeline.observer import Observer
from scirgen.pipeline.plan import PLAN
from scirgen.pipeline.store import StoredResult

_PLAIN_EVERY_S = 10.0
_FEWEST = 5
"""Items of a stage that must have finished before their mean time predicts the others'."""
_KNOWN = ("collect", "parse", "section", "match", "release")
"""Stages whose number of items is known early; that of others only when a dataset reaches them."""
_HEARTBEAT_S = 60.0
"""Longest time without a line, even if nothing finishes, so users can tell a slow model from one that hangs."""


class _Counts:
    def __init__(self) -> None:
        self.planned = self.done = self.failed = self.outputs = self.rejected = self.fresh = 0
        self.busy = 0.0


class ScreenObserver(Observer):
    """Counts events and shows them as a live table, or as a line every ten seconds (every minute if nothing happens).

    Args:
        live: show a table; None: on a terminal.
    """

    _every_s = _PLAIN_EVERY_S

    def __init__(self, *, live: bool | None = None) -> None:
        self._counts = {step.stage: _Counts() for step in PLAN}
        self._started = time.monotonic()
        self._said = self._started
        self._console = Console(stderr=True)
        self._finished_at = self._started
        self._chosen = 0
        self._waiting: Callable[[], int] = lambda: 0
        self._ended = threading.Event()
        self._live = (
            Live(get_renderable=self._table, console=self._console, refresh_per_second=2, transient=True)
            if (sys.stderr.isatty() if live is None else live)
            else None
        )
        self._heart = threading.Thread(target=self._beat, name="scirgen progress", daemon=True)

    def __enter__(self) -> ScreenObserver:
        if self._live:
            self._live.start()
        else:
            self._heart.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        if self._live:
            self._live.stop()

    def planned(self, stage: str, count: int) -> None:
        """Count a new item to do."""
        self._of(stage).planned += count

    def finished(self, result: StoredResult, *, reused: bool, seconds: float) -> None:
        """Count a finished item."""
        counts = self._of(result.stage)
        counts.done += 1
        counts.fresh += not reused
        counts.failed += result.status != "done"
        counts.outputs += result.n_outputs
        counts.rejected += result.n_rejections
        counts.busy += seconds
        self._finished_at = time.monotonic()
        if not self._live and self._finished_at - self._said > self._every_s:
            self._say()

    def _of(self, stage: str) -> _Counts:
        return self._counts.setdefault(stage, _Counts())

    def subjects(self, chosen: int, read: int) -> None:
        """Count only the datasets that continue."""
        self._chosen = chosen
        self.note(f"pairs are made about {chosen:,} of {read:,} datasets; the others are read and searched")

    def note(self, message: str) -> None:
        """Show a line to the user."""
        self._console.print(message, highlight=False, markup=False)

    def models(self, waiting: Callable[[], int]) -> None:
        """Show from now on when the run is waiting for models."""
        self._waiting = waiting

    def _beat(self) -> None:
        """Report the run's progress after each minute without other output."""
        while not self._ended.wait(min(_HEARTBEAT_S, 5.0)):
            if time.monotonic() - self._said >= _HEARTBEAT_S:
                self._say()

    def _say(self) -> None:
        self._said = now = time.monotonic()
        waiting = self._waiting()
        what = "waiting for the model" if waiting else "working"
        active = [f"{s} {c.done}/{c.planned}" for s, c in self._counts.items() if c.planned] or [
            "opening the models" if waiting else "reading the catalogue"
        ]
        line = f"[{now - self._started:6.0f} s] " + "  ".join(active)
        if left := self.time_left():
            line += f"; about {left} left"
        if now - self._finished_at >= _HEARTBEAT_S:
            ago = f"the last item finished {spoken(now - self._finished_at)} ago"
            line += f"; {what}, {ago if any(c.done for c in self._counts.values()) else 'nothing has finished yet'}"
        print(line, file=sys.stderr, flush=True)

    def time_left(self) -> str:
        """Estimate the time for the rest of the run from the finished items of its stages.

        Datasets that have not reached the filter will add items to the stages before it, as many as the others did.
        Empty while nothing predicts it: too few datasets have reached the filter, few items of a stage have finished,
        or the current ones take longer than the estimate.
        """
        datasets, reached = self._chosen or self._counts["collect"].done, self._counts["filter"].planned
        if datasets and reached < min(datasets, _FEWEST):
            return ""
        share = max(1.0, datasets / reached) if reached else 1.0
        open_ = [
            (c.planned * (1.0 if stage in _KNOWN else share) - c.done, c)
            for stage, c in self._counts.items()
            if c.planned * (1.0 if stage in _KNOWN else share) > c.done
        ]
        if not open_ or any(c.fresh < _FEWEST for _, c in open_):
            return ""
        busy = sum(c.busy for c in self._counts.values())
        side_by_side = max(busy / max(time.monotonic() - self._started, 1e-3), 1.0)
        seconds = sum(todo * c.busy / c.fresh for todo, c in open_) / side_by_side
        waited = time.monotonic() - self._finished_at
        return spoken(seconds) if seconds >= 1 and seconds > waited else ""

    def _table(self) -> Table:
        elapsed = max(time.monotonic() - self._started, 1e-3)
        left_in_all = self.time_left()
        title = f"scirgen, {elapsed:.0f} s" + (f", about {left_in_all} left" if left_in_all else "")
        if self._waiting() and time.monotonic() - self._finished_at >= _HEARTBEAT_S:
            title += f", waiting for the model for {spoken(time.monotonic() - self._finished_at)}"
        table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
        for name in ("stage", "done", "", "out", "rejected", "failed", "per min", "left"):
            table.add_column(name, justify="left" if name in ("stage", "") else "right")
        for stage, c in self._counts.items():
            if not c.planned:
                table.add_row(stage, "-", "", "", "", "", "", "", style="dim")
                continue
            width = 20
            filled = int(width * c.done / max(c.planned, 1))
            rate = c.fresh / elapsed * 60
            left = f"{(c.planned - c.done) / rate * 60:.0f} s" if rate and c.done < c.planned else ""
            table.add_row(
                stage, f"{c.done}/{c.planned}", "━" * filled + "·" * (width - filled), str(c.outputs), str(c.rejected),
                str(c.failed) if c.failed else "", f"{rate:.0f}" if c.fresh else "reused" if c.done else "", left,
            )  # fmt: skip
        return table


class NotebookObserver(ScreenObserver):
    """The table in a notebook cell's output, renewed every second."""

    _every_s = 1.0

    def __init__(self) -> None:
        super().__init__(live=False)
        display = importlib.import_module("IPython.display").display  # untyped
        self._shown = display({"text/plain": "scirgen"}, raw=True, display_id=True)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        super().__exit__(kind, error, at)
        self._say()

    def _say(self) -> None:
        self._said = time.monotonic()
        text = io.StringIO()
        Console(file=text, width=110, color_system=None, force_jupyter=False).print(self._table())
        self._shown.update({"text/plain": text.getvalue()}, raw=True)


def in_notebook() -> bool:
    """Return whether a notebook's kernel runs this."""
    made = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(made).__name__ == "ZMQInteractiveShell"


def spoken(seconds: float) -> str:
    """Format a time: ``40 s``, ``9 min``, ``3 h 20 min``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def make_observer(*, quiet: bool) -> ScreenObserver:
    """Make an observer: live on a terminal, lines elsewhere; only notes when quiet."""
    observer = ScreenObserver(live=sys.stderr.isatty() and not quiet)
    if quiet:
        observer._said = float("inf")
    return observer
