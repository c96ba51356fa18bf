"""Broken PDFs: every seed flips, cuts or splices the bytes of a PDF; the parser must give a document or an error with a
code."""

from __future__ import annotations

import os
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from scirgen.core.errors import PaperError
from scirgen.stages.parse.base import ParsedPaper, ParserOptions
from scirgen.stages.parse.process.pool import ParserPool
from scirgen.stages.parse.sniff import sniff
from scirgen_pdf import PLUGIN as PDF
from tests.support.made_papers import made_pdf, real_pdfs

pytest.importorskip("pymupdf")

SEEDS = int(os.environ.get("SCIRGEN_FUZZ_SEEDS", "50"))
CODES = {
    "no_text",
    "unreadable_text",
    "encrypted",
    "no_extract",
    "damaged",
    "not_a_pdf",
    "timeout",
    "memory",
    "unsupported",
    "too_large",
}
PLUGIN = PDF.provides[0]
OPTIONS = ParserOptions(timeout_s=20, no_extract="parse")


def mutate(data: bytes, other: bytes, seed: int) -> bytes:
    """One to three mutations, the same for a seed on every machine."""
    rng = random.Random(seed)
    made = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        kind = rng.randrange(6)
        at = rng.randrange(len(made))
        if kind == 0:
            for _ in range(rng.choice((1, 16, 256))):
                made[rng.randrange(len(made))] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del made[max(64, at) :]
        elif kind == 2:
            del made[at : at + rng.choice((1, 100, 10_000))]
        elif kind == 3:
            start = rng.randrange(len(other))
            made[at:at] = other[start : start + rng.choice((10, 1000, 50_000))]
        elif kind == 4:
            made[at : at + 200] = bytes(rng.randrange(256) for _ in range(200))
        else:
            digits = [i for i in range(len(made)) if 48 <= made[i] <= 57][:: max(1, len(made) // 400)]
            for i in digits[:200]:
                if rng.random() < 0.2:
                    made[i] = rng.choice(b"0123456789-")
        if len(made) < 64:
            made += b"%PDF-1.4\n" * 8
    return bytes(made)


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """Generated papers always, and real ones where they are there: small ones, or all below 3 MB if there are many
    seeds."""
    folder = tmp_path_factory.mktemp("originals")
    made = [made_pdf(folder / f"{columns}.pdf", columns=columns, paragraphs=1).read_bytes() for columns in (1, 2)]
    real = real_pdfs() if SEEDS <= 50 else [*real_pdfs(), *real_pdfs("papers2")]
    return made + [p.read_bytes() for p in real if p.stat().st_size < (300_000 if SEEDS <= 50 else 3_000_000)]


@pytest.mark.timeout(800 if SEEDS <= 50 else 3600)
def test_mutated_pdfs_give_a_document_or_an_error_with_a_code(originals: list[bytes], tmp_path: Path) -> None:
    pool = ParserPool(size=2, memory_mb=1024, files_per_worker=100)
    me = psutil.Process()
    outcomes: dict[str, int] = {}

    def one(seed: int) -> str:
        path = tmp_path / f"{seed}.pdf"
        path.write_bytes(mutate(originals[seed % len(originals)], originals[(seed * 7 + 1) % len(originals)], seed))
        try:
            sniff(path)
            parsed = pool.parse_blocking(PLUGIN, path, OPTIONS)
            assert isinstance(parsed, ParsedPaper)
            return "document"
        except PaperError as error:
            return error.error_code
        finally:
            path.unlink()

    one(0)
    before, files = me.memory_info().rss, me.num_fds()
    try:
        with ThreadPoolExecutor(2) as threads:
            for code in threads.map(one, range(SEEDS)):
                outcomes[code] = outcomes.get(code, 0) + 1
        assert len(pool.pids()) <= 2
        assert me.memory_info().rss - before < 150 * 2**20
        assert me.num_fds() - files <= 8
    finally:
        pool.close()
    assert set(outcomes) <= CODES | {"document"}, outcomes
    assert outcomes.get("document", 0) > 0
    assert sum(outcomes.values()) == SEEDS
    print(outcomes)
    alive = [c for c in me.children() if c.status() != psutil.STATUS_ZOMBIE]  # a zombie has no command line to read
    assert not [c for c in alive if "scirgen.stages.parse.process.worker" in " ".join(c.cmdline())]
