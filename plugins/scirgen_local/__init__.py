"""Models in this process: shared prefixes, decoding, encoders."""

from __future__ import annotations

from scirgen import Plugin, Provided, __version__

PLUGIN = Plugin(
    "scirgen-local",
    __version__,
    (
        Provided(
            "chat_model", "hf", "scirgen_local.transformers_local:TransformersChat", "transformers in process", "local"
        ),
        Provided(
            "scoring_model",
            "hf",
            "scirgen_local.transformers_scoring:TransformersScoring",
            "transformers in process",
            "local",
        ),
        Provided("entailment", "hf", "scirgen_local.entailment:ClassifierEntailment", "a classifier", "local"),
        Provided("embedder", "st", "scirgen_local.embeddings:Embedder", "sentence-transformers", "dense"),
    ),
)
