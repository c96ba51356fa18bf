"""Progress on the screen: live bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.table import Table

from scirgen.pipeline.observer import Silent
from scirgen.pipeline.plan import PLAN
from scirgen.pipeline.store import StoredResult

_PLAIN_EVERY_S = 10.0


class _Counts:
    def __init__(self) -> None:
        self.planned = self.done = self.failed = self.outputs = self.rejected = self.fresh = 0
        self.busy = 0.0


class ScreenObserver(Silent):
    """Counts what happens and shows it, either as a live table or as a line every ten seconds."""

    def __init__(self, *, live: bool) -> None:
        self._counts = {step.stage: _Counts() for step in PLAN}
        self._started = time.monotonic()
        self._said = self._started
        self._console = Console(stderr=True)
        self._live = Live(self._table(), console=self._console, refresh_per_second=4, transient=True) if live else None

    def __enter__(self) -> ScreenObserver:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._live:
            self._live.stop()

    def planned(self, stage: str, count: int) -> None:
        """More is known to do."""
        self._counts[stage].planned += count

    def finished(self, result: StoredResult, *, reused: bool, seconds: float) -> None:
        """One more is done."""
        counts = self._counts[result.stage]
        counts.done += 1
        counts.fresh += not reused
        counts.failed += result.status != "done"
        counts.outputs += result.n_outputs
        counts.rejected += result.n_rejections
        counts.busy += seconds
        self._show()

    def note(self, message: str) -> None:
        """A line for the person."""
        self._console.print(message, highlight=False, markup=False)

    def _show(self) -> None:
        if self._live:
            self._live.update(self._table())
        elif time.monotonic() - self._said > _PLAIN_EVERY_S and any(c.planned for c in self._counts.values()):
            self._said = time.monotonic()
            active = [f"{s} {c.done}/{c.planned}" for s, c in self._counts.items() if c.planned] or ["reading"]
            print(f"[{self._said - self._started:6.0f} s] " + "  ".join(active), file=sys.stderr, flush=True)

    def _table(self) -> Table:
        elapsed = max(time.monotonic() - self._started, 1e-3)
        table = Table(title=f"scirgen, {elapsed:.0f} s", title_justify="left", box=None, padding=(0, 2, 0, 0))
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


def make_observer(*, quiet: bool) -> ScreenObserver:
    """Live on a terminal, lines elsewhere; nothing but notes when quiet."""
    observer = ScreenObserver(live=sys.stderr.isatty() and not quiet)
    if quiet:
        observer._said = float("inf")
    return observer
