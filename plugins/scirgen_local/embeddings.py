"""Sentence embeddings through sentence-transformers, named ``st:MODEL_OR_DIR``: for dense retrieval and for
near-duplicates.

The callers decide what to compare, and from which cosine texts count as the same.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Final

import numpy as np

from scirgen import ConfigError
from scirgen.llm.encoders.embedder import Role, Vectors
from scirgen.plugin import MissingExtraError, ModelAccessError, require
from scirgen_local.loading import weights_hash

SCHEME: Final = "st"
_KEPT: Final = 60_000
_BATCH: Final = 32
# A model that was trained with a prefix names it in its configuration under one of these keys.
_PROMPTS: Final[dict[Role, tuple[str, ...]]] = {
    "query": ("query",),
    "document": ("document", "passage", "corpus"),
}


class Embedder:
    """Embeds texts, and caches up to about 60,000 embeddings in this process.

    Args:
        name: a folder, or a model id of the Hugging Face Hub.
        bf16: compute in bfloat16, except operations that would lose precision; several times as fast on a processor
            that has it.

    Raises:
        MissingExtraError: sentence-transformers is not installed.
        ModelAccessError: no such model.
    """

    def __init__(self, name: str, bf16: bool = False) -> None:
        self.name = name
        self._bf16 = bf16
        self._model = load(SENTENCE, name)
        self._known: dict[tuple[str, str], Vectors] = {}
        self._lock = threading.Lock()

    @classmethod
    def open(cls, name: str) -> Embedder:
        """See `open_embedder`."""
        return open_embedder(name)

    @classmethod
    def identify(cls, name: str, setting: str) -> str:
        """Identify the model for a fingerprint.

        Raises:
            ConfigError: a folder that does not exist.
            MissingExtraError: sentence-transformers is not installed.
        """
        if name.startswith(("/", ".", "~")) and not Path(name).expanduser().is_dir():
            raise ConfigError(f"{setting}: {name} is not a folder", hint="Write st:MODEL_OR_DIR.")
        if importlib.util.find_spec("sentence_transformers") is None:
            raise MissingExtraError(f"{setting} needs sentence-transformers", hint="pip install 'scirgen[dense]'")
        return identity(name)

    @classmethod
    def describe(cls, name: str) -> str:
        """Name the model for a card: a folder's last part with the hash of its files, or the id on the Hub."""
        folder = Path(name).expanduser()
        return f"{folder.resolve().name} ({identity(name)[:15]})" if folder.is_dir() else name

    @property
    def window(self) -> int:
        """Number of tokens that the model reads of a text; the rest is cut."""
        return int(self._model.max_seq_length or 0)

    def embed(self, texts: Sequence[str], role: Role = "document") -> Vectors:
        """Return vectors of length 1 with shape (len(texts), dimensions)."""
        prompt = next((p for p in _PROMPTS[role] if (getattr(self._model, "prompts", None) or {}).get(p)), "")
        with self._lock:
            new = sorted({t for t in texts if (prompt, t) not in self._known}, key=lambda t: (len(t), t))
            if len(self._known) + len(new) > _KEPT:
                self._known.clear()
                new = sorted(set(texts), key=lambda t: (len(t), t))
            found = self._encode(new, prompt) if new else ()
            self._known.update(((prompt, text), vector) for text, vector in zip(new, found, strict=True))
            if not texts:
                return np.empty((0, int(self._model.get_sentence_embedding_dimension() or 0)), dtype=np.float32)
            return np.stack([self._known[prompt, text] for text in texts])

    def _encode(self, texts: Sequence[str], prompt: str) -> Vectors:
        with self._precision():
            vectors: Vectors = self._model.encode(
                list(texts), batch_size=_BATCH, normalize_embeddings=True, convert_to_numpy=True,
                show_progress_bar=False,
                **({"prompt_name": prompt} if prompt else {}),
            )  # fmt: skip
        return vectors.astype(np.float32, copy=False)

    def _precision(self) -> AbstractContextManager[object]:
        if not self._bf16:
            return nullcontext()
        import torch

        return torch.autocast(self._model.device.type, dtype=torch.bfloat16)


SENTENCE: Final = "SentenceTransformer"
CROSS: Final = "CrossEncoder"

_shared: dict[tuple[str, bool], Embedder] = {}
_opening = threading.Lock()


def open_embedder(name: str, bf16: bool = False) -> Embedder:
    """Return the embedder of a model, one per process, so weights are loaded once and texts are embedded once."""
    with _opening:
        if (name, bf16) not in _shared:
            _shared[name, bf16] = Embedder(name, bf16)
        return _shared[name, bf16]


def identity(name: str) -> str:
    """Return the identity of a model in a fingerprint: a hash of its files (independent of their path), or its id on
    the Hub."""
    folder = Path(name).expanduser()
    return f"{SCHEME}:{weights_hash(folder)}" if folder.is_dir() else f"{SCHEME}:{name}"


def load(kind: str, name: str) -> Any:
    """Return a model of sentence-transformers: `SENTENCE` or `CROSS`.

    Raises:
        MissingExtraError: sentence-transformers is not installed.
        ModelAccessError: no such model, or of another kind.
    """
    with require("dense", "embedding models"):
        import sentence_transformers
        from transformers.utils import logging as transformers_logging
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    folder = Path(name).expanduser()
    try:
        # Never code from a model's folder; sentence-transformers before 6.0 ran that of local ones regardless.
        return getattr(sentence_transformers, kind)(str(folder) if folder.is_dir() else name, trust_remote_code=False)
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ModelAccessError(
            f"cannot load the model {name!r}: {reason}", hint="Give a folder, or a model id of the Hugging Face Hub."
        ) from error
