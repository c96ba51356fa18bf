"""Two sets of queries rank retrieval systems alike, or not."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from scirgen.cli.main import cli
from scirgen.core.errors import InputError
from scirgen.core.registry import load_registry
from scirgen_bench.rank_agreement import Query, Searched, measure_agreement, read_corpus, read_queries
from tests.support.content_factory import name, small_run
from tests.support.release_writing import write

SYSTEMS = ("bm25", "bm25@title", "bm25@text")
CORPUS = [
    Searched(f"d{n}", f"{name(n, 'T')} record", f"About {name(n, 'B')} and {name(n + 1, 'B')}.") for n in range(40)
]


def measured(first: list[Query], second: list[Query], systems: tuple[str, ...] = SYSTEMS):
    return measure_agreement(CORPUS, first, second, registry=load_registry(), systems=systems)


def by(prefix: str, numbers: range) -> list[Query]:
    return [Query(name(n, prefix), (f"d{n}",)) for n in numbers]


def test_sets_of_one_kind_agree_and_those_of_another_do_not():
    titles, texts = by("T", range(0, 20)), by("B", range(0, 20))
    same = measured(titles, by("T", range(20, 40)))
    assert same.kendall == same.spearman == 1.0 and same.halves == 1.0
    found = measured(titles, texts)
    scores = {s.system: (s.first, s.second) for s in found.systems}
    assert scores["bm25@title"] == (1.0, 0.0)
    assert scores["bm25@text"][0] == 0.0 < scores["bm25@text"][1] < 1.0  # each word stands in two texts
    assert found.kendall < 0.5
    low, high = found.kendall_95
    assert low <= found.kendall <= high


def test_gold_outside_the_corpus_is_left_out_and_counted():
    found = measured(by("T", range(5)), [*by("T", range(5)), Query("x", ("elsewhere",))])
    assert (found.queries, found.left_out) == ((5, 5), (0, 1))
    with pytest.raises(InputError, match="no query of the second set"):
        measured(by("T", range(5)), [Query("x", ("elsewhere",))])


@pytest.mark.parametrize(
    ("systems", "said"), [(("bm25", "tfidf"), "at least three"), (("bm25", "tfidf", "bm25@x"), "unknown field 'x'")]
)
def test_systems_that_cannot_be_ranked_are_refused(systems, said):
    with pytest.raises(InputError, match=said):
        measured(by("T", range(5)), by("T", range(5)), systems)


def test_releases_beir_folders_and_lines_are_read(tmp_path):
    release = write(small_run(), tmp_path / "release", load_registry(), formats=("beir",))
    folder = release.folder / "beir" / "without-paper"
    assert read_corpus(release.folder) == read_corpus(folder)
    assert len(read_queries(release.folder)) == len(read_queries(folder)) == release.info.counts["rows"]
    lines = tmp_path / "q.jsonl"
    lines.write_text(
        '{"query": "Snow?", "dataset_ids": ["ds-001", "ds-002"]}\n{"text": "Ice?", "dataset_id": "ds-001"}\n'
        '{"question": "Sleet?", "gold": ["ds_003"]}\n'
    )
    assert read_queries(lines)[:2] == [Query("Snow?", ("ds-001", "ds-002")), Query("Ice?", ("ds-001",))]
    result = CliRunner().invoke(
        cli, ["benchmark", "agree", str(release.folder), str(release.folder), str(lines), "--quiet"]
    )
    assert result.exit_code == 0, result.output
    assert "Kendall's tau" in result.output and "two halves of the first set" in result.output
    assert "note: 1 queries of the second set" in result.output and "ds_003 is not in it" in result.output
    lines.write_text('{"query": "Snow?"}\n')
    with pytest.raises(InputError, match="line 1: no gold"):
        read_queries(lines)


@pytest.mark.realdata
def test_a_half_of_peoples_queries_ranks_systems_as_the_other_half_does(realdata: Path) -> None:
    folder = realdata / "recipes" / "datafinder"
    corpus = read_corpus(folder / "documents.jsonl.gz")
    with gzip.open(folder / "documents.jsonl.gz", "rt") as file:
        assert len(corpus) == len({json.loads(line)["id"] for line in file})
    people = read_queries(folder / "topics.jsonl")
    systems = ("bm25", "tfidf", "bm25@title", "tfidf@text")
    halves = people[::2], people[1::2]
    found = measure_agreement(corpus, *halves, registry=load_registry(), systems=systems)
    assert found.kendall > 0.3 and found.spearman > 0.4
    assert 0.05 < found.systems[0].first < 0.15
