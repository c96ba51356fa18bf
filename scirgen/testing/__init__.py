"""For tests and plugin authors: a fake OpenAI-compatible server with deterministic, well-formed replies, and
`check_source`, the conformance suite of source adapters.

No other scirgen package imports this one.
"""

from __future__ import annotations

from scirgen.testing.serving import serving
from scirgen.testing.sources import SourceContractError, SourceReport, check_source, check_source_async

__all__ = ["SourceContractError", "SourceReport", "check_source", "check_source_async", "serving"]
