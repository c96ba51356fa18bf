"""The samples for LlamaIndex and Ragas, read by LlamaIndex and Ragas."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.rag


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    from scirgen.core.registry import load_registry
    from tests.support.content_factory import small_run
    from tests.support.release_writing import write

    return write(small_run(), tmp_path_factory.mktemp("r") / "release", load_registry(), formats=("rag",))


def test_ragas_reads_questions_references_and_contexts(release):
    from ragas import EvaluationDataset

    read = EvaluationDataset.from_jsonl(release.folder / "rag" / "ragas.jsonl")
    rows = {r.question: r for r in release.rows("test")}
    passages = {p.id: p.text for p in release.passages()}
    assert len(read) == len(rows) > 0
    for sample in read:
        row = rows[sample.user_input]
        assert sample.reference == row.answer
        assert sample.reference_contexts == [passages[p] for p in row.passages]


@pytest.mark.filterwarnings("ignore:Call to deprecated class")
def test_llama_index_reads_queries_and_responses(release):
    from llama_index.core.evaluation import QueryResponseDataset

    read = QueryResponseDataset.from_json(str(release.folder / "rag" / "llama_index_pairs.json"))
    assert dict(read.qr_pairs) == {r.question: r.answer for r in release.rows("test")}


def test_a_file_with_a_field_missing_is_refused_by_the_reader(release, tmp_path):
    """So that the tests above can fail: the readers check what they read."""
    from ragas import EvaluationDataset

    broken = tmp_path / "broken.jsonl"
    broken.write_text(json.dumps({"user_input": "Which?", "reference_contexts": "not a list"}) + "\n")
    with pytest.raises(ValueError, match="reference_contexts"):
        EvaluationDataset.from_jsonl(broken)
