"""Retrieval and question-answering benchmarks of releases, comparisons, published sets, training."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from scirgen import Plugin, Provided, __version__

if TYPE_CHECKING:
    from scirgen_bench.api import abenchmark_qa, audit, benchmark_qa, benchmark_retrieval
    from scirgen_bench.retriever import Ranking

__all__ = ["PLUGIN", "ROOT", "Ranking", "abenchmark_qa", "audit", "benchmark_qa", "benchmark_retrieval"]

ROOT = Path(__file__).parent
_COMMANDS = {
    "benchmark": "Measure retrievers and models on a release.",
    "leaderboard": "Compare benchmark results in a Markdown table.",
    "audit": "Find defects in any question-answer set.",
    "analyze": "Compare question sets: types, Bloom levels, papers, words.",
    "calibrate": "Measure faithfulness scores on labelled answers and find thresholds.",
    "import": "Import a published dataset as a release.",
    "retriever": "Train an embedding model for retrieval on a release.",
}
_MODULES = {"import": "import_"}
_FORMATS = {
    "beir": ("retrieval:BeirFormat", "corpus, queries, qrels as BEIR reads them"),
    "trec": ("retrieval:TrecFormat", "TREC topics, qrels, documents"),
    "ir_datasets": ("retrieval:IrDatasetsFormat", "files and ids for ir_datasets"),
    "sharegpt": ("tuning:ShareGPTFormat", "chats for fine-tuning"),
    "alpaca": ("tuning:AlpacaFormat", "instructions for tuning"),
    "preference": ("tuning:PreferenceFormat", "kept against unfaithful"),
    "squad": ("tuning:SquadFormat", "SQuAD 2, with offsets"),
    "rag": ("rag:RagFormat", "samples for LlamaIndex and Ragas"),
}
PLUGIN = Plugin(
    "scirgen-bench",
    __version__,
    (
        *(
            Provided("command", name, f"scirgen_bench.cli.{module}:{module}", about)
            for name, about in _COMMANDS.items()
            for module in (_MODULES.get(name, name),)
        ),
        Provided("record", "Query", "scirgen_bench.tasks.records:Query"),
        Provided("kind", "retriever", "scirgen_bench.retriever:CONTRACT"),
        Provided("retriever", "bm25", "scirgen_bench.lexical:bm25", "BM25 as in Lucene", "benchmark"),
        Provided("retriever", "tfidf", "scirgen_bench.lexical:tfidf", "cosine of TF-IDF vectors", "benchmark"),
        Provided("retriever", "st", "scirgen_bench.dense:dense", "an embedding model", "dense"),
        Provided("retriever", "hybrid", "scirgen_bench.dense:hybrid", "BM25 and an embedding model, fused", "dense"),
        Provided("retriever", "run", "scirgen_bench.runfile:run_file", "a TREC run file, replayed", "benchmark"),
        Provided("retriever", "rerank", "scirgen_bench.dense:rerank", "a cross-encoder over BM25", "dense"),
        *(
            Provided("release_format", name, f"scirgen_bench.formats.{target}", about)
            for name, (target, about) in _FORMATS.items()
        ),
        Provided(
            "release_format",
            "triples",
            "scirgen_bench.triples:TriplesFormat",
            "queries, gold and hard negatives",
            "benchmark",
        ),
        Provided("release_format", "pairs", "scirgen_bench.pairs:PairsFormat", "passages to train on", "benchmark"),
        Provided("faithfulness", "semantic", "scirgen_bench.semantic:SemanticScorer", "SePer as published, soft"),
        Provided("faithfulness", "semantic_hard", "scirgen_bench.semantic:HardSemanticScorer", "the same, hard"),
        Provided("entailment", "lexical", "scirgen_bench.shared_words:SharedWords", "shared words; a baseline"),
        Provided("settings", "semantic", "scirgen_bench.settings:SemanticConfig"),
        Provided("settings", "difficulty", "scirgen_bench.difficulty:DifficultyConfig"),
        Provided("row_fields", "difficulty", "scirgen_bench.difficulty:DifficultyFields", "ranks of the gold passages"),
        Provided("release_part", "difficulty", "scirgen_bench.difficulty:DifficultyPart", "the same on the card"),
        Provided(
            "reader", "scirgen-geo", "scirgen_bench.published.reader:GeoReader", "records of ScIRGen-Geo, as released"
        ),
        Provided("labels", "default", "scirgen_bench.labels.reviews:LabelFolders", "folders of labels by people"),
        Provided("codes", "scirgen-bench", "scirgen_bench.codes:CODES"),
        Provided("resources", "scirgen-bench", "scirgen_bench:ROOT"),
        Provided("taxonomy", "needs", "scirgen_bench.tasks.taxonomies:Needs", "fields of a need for data"),
        Provided("taxonomy", "facets", "scirgen_bench.tasks.taxonomies:Facets", "facets of an abstract, with grades"),
    ),
)


def __getattr__(name: str) -> object:
    # Imported lazily, so that a run which measures nothing imports nothing of this wing.
    if name in __all__:
        module = "scirgen_bench.retriever" if name == "Ranking" else "scirgen_bench.api"
        return getattr(import_module(module), name)
    raise AttributeError(f"module 'scirgen_bench' has no attribute {name!r}")
