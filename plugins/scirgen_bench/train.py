"""Trains an embedding model on a release's train split; the result is used as ``st:DIR``.

sentence-transformers does the training, with MultipleNegativesRankingLoss (van den Oord et al. 2018, InfoNCE); this
module makes its examples, selects the best step, and records the settings.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal

from scirgen import ConfigError, InputError, Release, __version__
from scirgen.plugin import require
from scirgen_bench.lexical import BM25
from scirgen_bench.questions import is_answerable
from scirgen_bench.tasks.task_files import Task
from scirgen_local.embeddings import SENTENCE, load
from scirgen_local.loading import weights_hash

TrainingTask = Literal["qa", "recommend"]
Gold = dict[str, set[str]]
"""A question, and the ids of the documents that answer it."""
_NEAR = 20
"""The hard negative is drawn from this many documents that BM25 finds by the text of the one that answers."""
SelectedOn = Literal["dev", "train"]
_HELD_OUT = 20
"""With ``select_on="train"`` one document in this many is kept out of learning, with its questions."""


@dataclass(frozen=True)
class TrainingSettings:
    """The settings of a training.

    Attributes:
        task: ``qa``: the release's questions; ``recommend``: the queries of that task.
        steps: optimiser steps.
        batch: largest number of questions per step, each with a document that answers it and a similar one.
        learning_rate: peak, after a warm-up over a tenth of the steps.
        max_tokens: largest number of tokens of a text during training; the saved model keeps the base model's window.
        frozen_layers: number of the encoder's lowest layers that, with the word embeddings, are not trained.
        evaluate_every: steps between two measurements; the best one is kept.
        select_on: the measured questions: of ``dev``, or of documents of ``train`` that are held out for it, for a
            model that will be compared with others on dev.
        dev_queries: questions that are measured.
        dev_documents: documents they are ranked among (theirs, filled up at random).
        setting: what of a dataset is read.
        bf16: compute in bfloat16 where that loses little (autocast): several times as fast on a CPU or GPU that has it.
        seed: of sampling, order and dropout.
    """

    task: TrainingTask = "qa"
    steps: int = 500
    batch: int = 32
    learning_rate: float = 5e-5
    max_tokens: int = 128
    frozen_layers: int = 0
    evaluate_every: int = 50
    select_on: SelectedOn = "dev"
    dev_queries: int = 300
    dev_documents: int = 1000
    setting: str = "without-paper"
    bf16: bool = False
    seed: int = 0


def train_retriever(
    release: Release,
    base: str,
    out: Path,
    settings: TrainingSettings,
    progress: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Train and save a model; after an interruption, a second call continues from the last checkpoint.

    Args:
        release: release with the train split for learning and the dev split for selection.
        base: a sentence-transformers model, folder or id.
        out: the model's folder; ``out/training.json`` records how it was made.
        settings: see `TrainingSettings`.
        progress: callback for progress lines.

    Returns:
        The content of ``training.json``.

    Raises:
        InputError: train or dev have no queries with an answer.
        ConfigError: ``out`` has checkpoints with other settings.
        MissingExtraError: sentence-transformers[train] is not installed.
        ModelAccessError: no such base model.
    """
    with require("train", "training retrievers"):
        import torch
        from datasets import Dataset
        from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
        from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
    texts = {d.id: f"{d.title} {d.text}" for d in release.corpus(settings.setting)}
    train, dev = learned_and_selected(release, texts, settings)
    model = load(SENTENCE, base)
    window, model.max_seq_length = model.max_seq_length, settings.max_tokens
    record = {
        "base": base,
        "base_weights": weights_hash(Path(base)) if Path(base).is_dir() else base,
        **asdict(settings),
    }
    checkpoints = out / "checkpoints"
    _same_settings(out, record)
    examples = examples_of(train, texts, settings.seed)
    _freeze(model, settings.frozen_layers)
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(checkpoints),
        max_steps=settings.steps,
        per_device_train_batch_size=settings.batch,
        learning_rate=settings.learning_rate,
        warmup_steps=max(1, settings.steps // 10),
        batch_sampler="no_duplicates",  # so no document is a negative of a question that it answers
        eval_strategy="steps",
        eval_steps=settings.evaluate_every,
        save_strategy="steps",
        save_steps=settings.evaluate_every,
        save_total_limit=2,
        load_best_model_at_end=True,
        metric_for_best_model="eval_dev_cosine_mrr@10",
        logging_steps=max(1, min(10, settings.evaluate_every)),
        report_to=[],
        disable_tqdm=True,
        bf16=settings.bf16,
        use_cpu=not torch.accelerator.is_available(),
        seed=settings.seed,
        data_seed=settings.seed,
    )
    trainer = SentenceTransformerTrainer(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_list(examples),
        loss=MultipleNegativesRankingLoss(model),
        evaluator=_evaluator(dev, texts, settings),
    )
    before = trainer.evaluate()
    resumed = any(checkpoints.glob("checkpoint-*"))
    progress(f"training {settings.steps} steps" + (", from the last checkpoint" if resumed else ""))
    trainer.train(resume_from_checkpoint=resumed)
    after = trainer.evaluate()
    model.max_seq_length = window
    model.save_pretrained(str(out))
    record |= {
        "examples": len(examples),
        "train_queries": len(train),
        "steps_done": trainer.state.global_step,
        "dev_before": _metrics(before),
        "dev_after": _metrics(after),
        "release": release.info.name,
        "scirgen": __version__,
    }
    (out / "training.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return record


def _gold(release: Release, task: TrainingTask, split: str, texts: Mapping[str, str]) -> Gold:
    if task == "qa":
        found = [(r.question, r.gold) for r in filter(is_answerable, release.rows(split))]
    else:
        opened = Task(release, task)
        qrels = opened.qrels(split)
        asked = (q for q in opened.queries(split) if q.id in qrels)
        found = [(q.text, tuple(d for d, g in qrels[q.id].items() if g > 0)) for q in asked]
    gold: Gold = {}
    for text, ids in found:
        if known := [d for d in ids if d in texts]:
            gold.setdefault(text, set()).update(known)
    if not gold:
        raise InputError(
            f"the split {split} of {release.folder} has no queries with an answer in the corpus",
            hint="Training needs the splits train and dev.",
        )
    return gold


def learned_and_selected(release: Release, texts: Mapping[str, str], settings: TrainingSettings) -> tuple[Gold, Gold]:
    """Return the queries to train on and those that select the best step: dev, or a part of train's documents.

    Raises:
        InputError: the train split is too small to hold out documents.
    """
    train = _gold(release, settings.task, "train", texts)
    if settings.select_on == "dev":
        return train, _gold(release, settings.task, "dev", texts)
    documents = sorted(set().union(*train.values()))
    held = set(Random(settings.seed).sample(documents, max(1, len(documents) // _HELD_OUT)))
    # A question of a held-out document is not trained with another document.
    selected = {question: ids for question, ids in train.items() if ids & held}
    learned = {question: ids for question, ids in train.items() if question not in selected}
    if not learned:
        raise InputError(f"the train split of {release.folder} is too small to hold out documents")
    return learned, selected


def examples_of(train: Gold, texts: Mapping[str, str], seed: int) -> list[dict[str, str]]:
    """Return a row for each question and document that answers it, with a similar document that does not.

    A question that every document answers has no row.
    """
    random = Random(seed)
    ids = sorted(texts)
    answering = sorted(set().union(*train.values()))
    model = BM25()
    model.index([texts[d] for d in ids])
    hits = model.search([texts[d] for d in answering], _NEAR + 1).documents.tolist()
    near = {d: [ids[p] for p in found if p >= 0] for d, found in zip(answering, hits, strict=True)}
    return [
        {"question": question, "document": texts[document], "negative": texts[random.choice(others)]}
        for question, gold in train.items()
        for document in sorted(gold)
        if (others := [d for d in near[document] if d not in gold] or [d for d in ids if d not in gold])
    ]


def _evaluator(dev: Gold, texts: Mapping[str, str], settings: TrainingSettings) -> Any:
    from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

    random = Random(settings.seed)
    queries = sorted(dev)
    chosen = queries if len(queries) <= settings.dev_queries else random.sample(queries, settings.dev_queries)
    documents = {d for q in chosen for d in dev[q]}
    rest = sorted(set(texts) - documents)
    documents |= set(random.sample(rest, max(0, min(len(rest), settings.dev_documents - len(documents)))))
    return InformationRetrievalEvaluator(
        queries={str(i): q for i, q in enumerate(chosen)},
        corpus={d: texts[d] for d in sorted(documents)},
        relevant_docs={str(i): dev[q] for i, q in enumerate(chosen)},
        mrr_at_k=[10],
        ndcg_at_k=[10],
        accuracy_at_k=[1],
        precision_recall_at_k=[20],
        map_at_k=[100],
        name="dev",
        show_progress_bar=False,
        write_csv=False,
    )


def _freeze(model: Any, layers: int) -> None:
    """Freeze the word embeddings and the lowest layers of the encoder."""
    if not layers:
        return
    encoder = model[0].auto_model
    if layers > len(encoder.encoder.layer):
        raise ConfigError(f"--frozen-layers {layers}: the model has {len(encoder.encoder.layer)} layers")
    for part in (encoder.embeddings, *encoder.encoder.layer[:layers]):
        for parameter in part.parameters():
            parameter.requires_grad = False


def _same_settings(out: Path, record: Mapping[str, object]) -> None:
    """Refuse to continue from checkpoints with other settings, except for the number of steps."""
    marker = out / "settings.json"
    text = json.dumps(record, indent=2, sort_keys=True) + "\n"
    if marker.is_file() and marker.read_text(encoding="utf-8") != text:
        raise ConfigError(
            f"{out} has checkpoints from training with other settings", hint="Choose another --out, or remove it."
        )
    out.mkdir(parents=True, exist_ok=True)
    marker.write_text(text, encoding="utf-8")


def _metrics(found: Mapping[str, Any]) -> dict[str, float]:
    names = {
        "eval_dev_cosine_mrr@10": "MRR@10",
        "eval_dev_cosine_recall@20": "R@20",
        "eval_dev_cosine_ndcg@10": "NDCG@10",
    }
    return {ours: round(float(found[theirs]), 6) for theirs, ours in names.items() if theirs in found}
