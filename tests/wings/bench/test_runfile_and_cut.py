from __future__ import annotations

import pytest

from scirgen.core.errors import ConfigError, InputError
from scirgen_bench.runfile import RunFile
from scirgen_bench.tasks.cut import listed, parse_cut
from scirgen_bench.tasks.task_files import TaskDocument

DOCUMENTS = {
    d: TaskDocument(id=d, searched="", year=y) for d, y in (("a", 2010), ("b", 2020), ("c", None), ("d", 2015))
}


def replay(tmp_path, text, queries=("q1", "q2")):
    path = tmp_path / "some.run"
    path.write_text(text)
    run = RunFile(path)
    run.identify(queries, frozenset({"q1", "q2", "q3"}), ["a", "b", "c"])
    return run.search(list(queries), 3)


def test_a_run_is_replayed_by_score_and_in_the_files_order_among_equals(tmp_path):
    found = replay(tmp_path, "q1 Q0 c 1 2.0 x\nq1 Q0 b 2 5 x\nq1 Q0 a 3 2.0 x\nq3 Q0 a 1 1 x\n\n")
    assert found.documents.tolist() == [[1, 2, 0], [-1, -1, -1]]
    assert found.scores[0].tolist() == [5.0, 2.0, 2.0]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("q9 Q0 a 1 1 x", "unknown query 'q9'"),
        ("q1 Q0 z 1 1 x", "unknown document 'z'"),
        ("q1 Q0 a 1", "expected"),
        ("q1 Q0 a 1 high x", "expected"),
        ("q1 Q0 b 1 1 x", "occurs twice"),
    ],
)
def test_a_wrong_line_of_a_run_is_named(tmp_path, line, what):
    with pytest.raises(InputError, match=f"line 2: .*{what}"):
        replay(tmp_path, f"q1 Q0 b 1 3 x\n{line}\n")


def test_documents_younger_than_the_query_go_and_undated_ones_stay():
    hits = [("a", 4.0), ("b", 3.0), ("c", 2.0), ("d", 1.0)]
    assert [d for d, _ in listed(hits, DOCUMENTS, not_after=2015)] == ["a", "c", "d"]
    assert [d for d, _ in listed(hits, DOCUMENTS, not_after=2015, cut=parse_cut("2", 1000))] == ["a", "c"]
    assert [d for d, _ in listed(hits, DOCUMENTS, own={"a"})] == ["b", "c", "d"]


def test_published_list_runs_on_when_its_last_hit_is_dropped():
    documents = {f"d{i}": TaskDocument(id=f"d{i}", searched="", year=2000 + i) for i in range(30)}
    hits = [(f"d{i}", float(-i)) for i in range(30)]
    cut = parse_cut("datafinder", 1000)
    assert len(listed(hits, documents, cut=cut)) == 4
    documents["d3"] = documents["d3"].model_copy(update={"year": 2050})
    assert len(listed(hits, documents, not_after=2040, cut=cut)) == 19


def test_a_repeated_record_counts_once_under_the_first_ones_id():
    documents = {**DOCUMENTS, "a#2": TaskDocument(id="a#2", searched="", same_as="a")}
    assert listed([("a#2", 2.0), ("a", 1.0), ("d", 0.5)], documents) == [("a", 2.0), ("d", 0.5)]


@pytest.mark.parametrize("text", ["none", "0", "datafinder:x"])
def test_a_wrong_cut_is_refused(text):
    with pytest.raises(ConfigError, match="--cut"):
        parse_cut(text, 1000)
