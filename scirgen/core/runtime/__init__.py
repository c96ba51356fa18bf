"""Helpers of a running process: coroutines, waits that end with the run, garbage collection, traces."""

from scirgen.core.runtime._loop import (
    allow_waits,
    blocking,
    end_waits,
    is_stopping,
    pause,
    rare_collections,
    stop_here,
    stopped,
)

__all__ = ["allow_waits", "blocking", "end_waits", "is_stopping", "pause", "rare_collections", "stop_here", "stopped"]
