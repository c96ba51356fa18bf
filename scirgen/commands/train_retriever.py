"""Trains an embedding model on a release's train split, with in-batch and hard negatives; the result is used as ``st:DIR``.

sentence-transformers does the training; this module makes the examples, selects the best step on dev, and records the
settings.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal

from scirgen.benchmark.lexical import BM25
from scirgen.core.errors import ConfigError, InputError
from scirgen.core.extras import require
from scirgen.core.version import __version__
from scirgen.llm.encoders.embeddings import SENTENCE, load
from scirgen.llm.local.model_files import weights_hash
from scirgen.qa.release import Release
from scirgen.qa.tasks import Task

TrainingTask = Literal["qa", "recommend"]
_HARD = 7
"""Negatives are drawn from this many first hits of BM25 that do not answer the question, as in DataFinder."""


@dataclass(frozen=True)
class TrainingSettings:
    """How a retriever is trained.

    Attributes:
        task: ``qa``: the release's questions; ``recommend``: the queries of that task.
        steps: optimiser steps. batch: examples per step; each document of a batch is a negative for the others'
            questions.
        learning_rate: peak, after a warm-up over a tenth of the steps.
        max_tokens: largest number of tokens of a text during training; the saved model keeps the base model's window.
        frozen_layers: number of the encoder's lowest layers that, with the word embeddings, are not trained.
        evaluate_every: steps between two measurements on dev; the best one is kept.
        dev_queries: dev questions that are measured.
        dev_documents: documents they are ranked among (theirs, filled up at random).
        setting: what of a dataset is read.
        bf16: compute in bfloat16 where that loses little (autocast): about twice as fast on a CPU or GPU that has it.
        seed: of sampling, order and dropout.
    """

    task: TrainingTask = "qa"
    steps: int = 500
    batch: int = 32
    learning_rate: float = 2e-5
    max_tokens: int = 128
    frozen_layers: int = 0
    evaluate_every: int = 50
    dev_queries: int = 300
    dev_documents: int = 1000
    setting: str = "without-paper"
    bf16: bool = False
    seed: int = 0


@dataclass(frozen=True)
class _Split:
    """(query, id of a document that answers it), and document id -> text."""

    pairs: list[tuple[str, str]]
    gold: dict[str, set[str]]


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
    st = _sentence_transformers()
    texts = {d.id: f"{d.title} {d.text}" for d in release.corpus(settings.setting)}
    train, dev = (_pairs(release, settings.task, split, texts) for split in ("train", "dev"))
    model = load(SENTENCE, base)
    window, model.max_seq_length = model.max_seq_length, settings.max_tokens
    record = {
        "base": base,
        "base_weights": weights_hash(Path(base)) if Path(base).is_dir() else base,
        **asdict(settings),
    }
    checkpoints = out / "checkpoints"
    _same_settings(out, record)
    progress(f"mining hard negatives for {settings.steps * settings.batch:,} examples")
    rows = list(_examples(train, texts, settings))
    _freeze(model, settings.frozen_layers)
    arguments = st["SentenceTransformerTrainingArguments"](
        output_dir=str(checkpoints),
        max_steps=settings.steps,
        per_device_train_batch_size=settings.batch,
        learning_rate=settings.learning_rate,
        warmup_steps=max(1, settings.steps // 10),
        batch_sampler=st["BatchSamplers"].NO_DUPLICATES,
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
        use_cpu=not st["accelerator"].is_available(),
        seed=settings.seed,
        data_seed=settings.seed,
    )
    trainer = st["SentenceTransformerTrainer"](
        model=model,
        args=arguments,
        train_dataset=st["Dataset"].from_list(rows),
        loss=st["MultipleNegativesRankingLoss"](model),
        evaluator=_evaluator(st, dev, texts, settings),
    )
    before = trainer.evaluate()
    resumed = any(checkpoints.glob("checkpoint-*"))
    progress(f"training {settings.steps} steps" + (", from the last checkpoint" if resumed else ""))
    trainer.train(resume_from_checkpoint=resumed)
    after = trainer.evaluate()
    model.max_seq_length = window
    model.save_pretrained(str(out))
    record |= {
        "examples": len(rows),
        "train_queries": len(train.pairs),
        "steps_done": trainer.state.global_step,
        "dev_before": _metrics(before),
        "dev_after": _metrics(after),
        "release": release.info.name,
        "scirgen": __version__,
    }
    (out / "training.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return record


def _sentence_transformers() -> Mapping[str, Any]:
    with require("train", "training retrievers"):
        import sentence_transformers as st
        import torch
        from datasets import Dataset
        from sentence_transformers.evaluation import InformationRetrievalEvaluator
        from sentence_transformers.losses import MultipleNegativesRankingLoss
        from sentence_transformers.training_args import BatchSamplers
    return {
        "SentenceTransformerTrainer": st.SentenceTransformerTrainer,
        "SentenceTransformerTrainingArguments": st.SentenceTransformerTrainingArguments,
        "Dataset": Dataset,
        "InformationRetrievalEvaluator": InformationRetrievalEvaluator,
        "MultipleNegativesRankingLoss": MultipleNegativesRankingLoss,
        "BatchSamplers": BatchSamplers,
        "accelerator": torch.accelerator,
    }


def _pairs(release: Release, task: TrainingTask, split: str, texts: Mapping[str, str]) -> _Split:
    if task == "qa":
        found = [(r.question, r.dataset_ids or (r.dataset_id,)) for r in release.rows(split)]
    else:
        opened = Task(release, task)
        qrels = opened.qrels(split)
        asked = (q for q in opened.queries(split) if q.id in qrels)
        found = [(q.text, tuple(d for d, g in qrels[q.id].items() if g > 0)) for q in asked]
    gold: dict[str, set[str]] = {}
    for text, ids in found:
        gold.setdefault(text, set()).update(d for d in ids if d in texts)
    pairs = [(text, d) for text, ids in found for d in ids if d in texts]
    if not pairs:
        raise InputError(
            f"the split {split} of {release.folder} has no queries with an answer in the corpus",
            hint="Training needs the splits train and dev.",
        )
    return _Split(pairs, gold)


def _examples(train: _Split, texts: Mapping[str, str], settings: TrainingSettings) -> Iterator[dict[str, str]]:
    """Examples for all steps: a question, a document that answers it, and one that BM25 finds and that does not."""
    random = Random(settings.seed)
    wanted = settings.steps * settings.batch
    drawn = train.pairs if len(train.pairs) <= wanted else random.sample(train.pairs, wanted)
    ids = sorted(texts)
    model = BM25()
    model.index([texts[d] for d in ids])
    found = model.search([q for q, _ in drawn], _HARD + 5).documents.tolist()
    for (query, document), positions in zip(drawn, found, strict=True):
        hard = [ids[p] for p in positions if p >= 0 and ids[p] not in train.gold[query]][:_HARD]
        negative = random.choice(hard or [d for d in ids if d != document])
        yield {"anchor": query, "positive": texts[document], "negative": texts[negative]}


def _evaluator(st: Mapping[str, Any], dev: _Split, texts: Mapping[str, str], settings: TrainingSettings) -> Any:
    random = Random(settings.seed)
    queries = sorted(dev.gold)
    chosen = queries if len(queries) <= settings.dev_queries else random.sample(queries, settings.dev_queries)
    documents = {d for q in chosen for d in dev.gold[q]}
    rest = sorted(set(texts) - documents)
    documents |= set(random.sample(rest, max(0, min(len(rest), settings.dev_documents - len(documents)))))
    return st["InformationRetrievalEvaluator"](
        queries={str(i): q for i, q in enumerate(chosen)},
        corpus={d: texts[d] for d in sorted(documents)},
        relevant_docs={str(i): dev.gold[q] for i, q in enumerate(chosen)},
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
            f"{out} has checkpoints of a training with other settings", hint="Choose another --out, or remove it."
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
