"""The Python functions of this wing: ``from scirgen_bench import benchmark_retrieval``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from scirgen import Release
from scirgen.commands.tables import Rows
from scirgen.plugin import blocking, load_registry
from scirgen_bench.defects import Audit, audit_rows
from scirgen_bench.qa import QAReport, QASettings, run_qa
from scirgen_bench.retrieval import RetrievalReport, evaluate


def benchmark_retrieval(
    release: str | Path | Release,
    retrievers: Sequence[str] = ("bm25",),
    *,
    corpora: Sequence[str] = ("without-paper",),
    split: str = "test",
    limit: int | None = None,
) -> RetrievalReport:
    """Measure whether retrievers find the dataset that a question is about: recall, MRR, NDCG and more, with intervals
    and tests."""
    opened = release if isinstance(release, Release) else Release(release)
    return evaluate(
        opened, list(retrievers), registry=load_registry(), settings=list(corpora), split=split, limit=limit
    )


async def abenchmark_qa(
    release: str | Path | Release,
    model: str,
    out: str | Path,
    *,
    ks: Sequence[int] = (0, 1, 5),
    split: str = "test",
    limit: int | None = None,
) -> QAReport:
    """Measure how well a model answers the questions of a release with 0, 1, 5 ... retrieved passages; ``out`` keeps
    the replies."""
    opened = release if isinstance(release, Release) else Release(release)
    settings = QASettings(model, ks=ks, split=split, limit=limit)
    return await run_qa(opened, settings, load_registry(), Path(out))


def benchmark_qa(
    release: str | Path | Release,
    model: str,
    out: str | Path,
    *,
    ks: Sequence[int] = (0, 1, 5),
    split: str = "test",
    limit: int | None = None,
) -> QAReport:
    """Run `abenchmark_qa` in synchronous code."""
    return blocking(abenchmark_qa(release, model, out, ks=ks, split=split, limit=limit))


def audit(
    file: Rows,
    *,
    split: str | None = None,
    domain: str | None = None,
    settings: Mapping[str, object] | None = None,
) -> Audit:
    """Find defects in a question-answer set (a run, a release, ScIRGen-Geo, BEIR, a table, a list, a DataFrame) with
    the gates that need no model; a run or a release with those of its own domain.

    Raises:
        InputError: the file is none of these.
    """
    return audit_rows(file, split=split, domain=domain, flags=settings)
