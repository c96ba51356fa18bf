"""For tests and plugin authors: a fake OpenAI-compatible server with deterministic, well-formed replies, and
`check_source`, `check_gate` and `check_scorer`, the conformance suites of adapters, gates and scorers.

No other scirgen package imports this one.
"""

from __future__ import annotations

from scirgen.testing.judges import check_gate, check_scorer
from scirgen.testing.serving import serving
from scirgen.testing.sources import ContractError, SourceReport, check_source

__all__ = [
    "ContractError", "SourceReport", "check_gate", "check_scorer", "check_source", "serving",
]  # fmt: skip
