"""Entailment by a Hugging Face classifier in this process (``hf:ID_OR_DIR``)."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import yaml

from scirgen import ConfigError, Entailment, ModelError, ModelURI
from scirgen.core.files.yamlfile import parse_yaml
from scirgen.plugin import ModelAccessError, require
from scirgen_local.loading import weights_hash

_LOG = logging.getLogger("scirgen.models")
_ENTAILS = re.compile(r"(?:entail|support|consistent|grounded|faithful)", re.I)
_CONTRADICTS = re.compile(r"(?:contradict|refut)", re.I)
_NON_COMMERCIAL = re.compile(r"\bnc\b|non-?commercial", re.I)


class ClassifierEntailment:
    """A classifier of (premise, hypothesis) pairs, interpreted by the names of its labels."""

    counts_words: ClassVar[bool] = False
    _loaded: dict[str, Classifier] = {}  # noqa: RUF012 - shared on purpose: weights are loaded once a process

    def __init__(self, uri: ModelURI, options: Mapping[str, object]) -> None:
        self.uri, self.options, self.identity = uri, options, str(uri)

    @classmethod
    def content_identity(cls, uri: ModelURI) -> str:
        """Return a hash of the model's files instead of a folder's path."""
        folder = Path(uri.name).expanduser()
        return f"{uri.scheme}:{_hashed(folder)}" if folder.is_dir() else str(uri)

    async def entail(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment | ModelError]:
        """See `EntailmentModel`. Pairs that do not fit the model's window are refused, not cut."""
        return await asyncio.to_thread(self._entail, list(pairs))

    def _entail(self, pairs: list[tuple[str, str]]) -> list[Entailment | ModelError]:
        if self.uri.name not in self._loaded:
            self._loaded[self.uri.name] = load_classifier(self.uri.name, self.options)
        model = self._loaded[self.uri.name]
        order = sorted(range(len(pairs)), key=lambda i: len(pairs[i][0]) + len(pairs[i][1]))
        found: dict[int, Entailment | ModelError] = {}
        for at in range(0, len(order), 16):
            fitting = []
            for i in order[at : at + 16]:
                if len(model.encode([pairs[i]])["input_ids"][0]) <= model.window:
                    fitting.append(i)
                else:
                    found[i] = ModelError("a text does not fit the entailment model's window", code="context_too_long")
            if fitting:
                found |= zip(fitting, model.read([pairs[i] for i in fitting]), strict=True)
        return [found[i] for i in range(len(pairs))]


class Classifier:
    """A loaded sequence classifier with a label for entailment, and perhaps one for contradiction."""

    def __init__(self, name: str) -> None:
        import transformers

        self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(name, trust_remote_code=False)
        kind: Any = transformers.AutoModelForSequenceClassification
        self._model: Any = kind.from_pretrained(name, trust_remote_code=False).eval()
        config = self._model.config
        named = {str(label): int(index) for index, label in config.id2label.items()}
        self._support = next((i for label, i in named.items() if _ENTAILS.match(label)), None)
        self._against = next((i for label, i in named.items() if _CONTRADICTS.match(label)), None)
        if self._support is None:
            raise ModelAccessError(
                f"{name!r} has no label named entailment or supported: {sorted(named)}",
                hint="Use a classifier trained for natural language inference.",
            )
        self.window = min(int(getattr(config, "max_position_embeddings", 512)), int(self._tokenizer.model_max_length))

    def encode(self, pairs: Sequence[tuple[str, str]]) -> Any:
        """Return the model's inputs for some pairs, padded."""
        return self._tokenizer([p for p, _ in pairs], [h for _, h in pairs], padding=True, return_tensors="pt")

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment | ModelError]:
        """Return the probabilities of some pairs."""
        import torch

        with torch.inference_mode():
            rows = self._model(**self.encode(pairs)).logits.float().softmax(dim=-1).tolist()
        found: list[Entailment | ModelError] = []
        for row in rows:
            entailed = row[self._support]
            against = row[self._against] if self._against is not None else 0.0
            found.append(Entailment(entailed, max(0.0, 1.0 - entailed - against), against))
        return found


def load_classifier(name: str, options: Mapping[str, object]) -> Classifier:
    """Load the classifier of a Hugging Face id or folder, and log its licence.

    Raises:
        ConfigError: its licence forbids commercial use, and ``models.options.non_commercial`` is not set.
        ModelAccessError: it cannot be loaded, or its labels have no known name.
    """
    licence = licence_of(name)
    if _NON_COMMERCIAL.search(licence) and not options.get("non_commercial"):
        raise ConfigError(
            f"the entailment model {name!r} has the licence {licence}, which forbids commercial use",
            hint="If your use is non-commercial, set models.options.non_commercial: true.",
        )
    _LOG.warning("entailment model %s: licence %s", name, licence)
    with require("local", "entailment models in process"):
        import transformers  # noqa: F401
    try:
        return Classifier(name)
    except (OSError, ValueError, KeyError) as error:
        if isinstance(error, ModelAccessError):
            raise
        raise ModelAccessError(
            f"cannot load the entailment model {name!r}: {str(error).splitlines()[0] if str(error) else error!r}",
            hint="Give hf:ID_OR_DIR of a classifier for natural language inference.",
        ) from error


def licence_of(name: str) -> str:
    """Return the licence that a model's card names; "unknown" if it names none or cannot be read."""
    try:
        card = _file_of(name, "README.md").read_text(encoding="utf-8")[:100_000]
    except (OSError, ValueError):
        return "unknown"
    front = card.removeprefix("---\n").partition("\n---")[0] if card.startswith("---\n") else ""
    try:
        found = parse_yaml(front)
    except yaml.YAMLError:
        return "unknown"
    return str(found.get("license_name") or found.get("license") or "unknown") if isinstance(found, dict) else "unknown"


def _file_of(name: str, file: str) -> Path:
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder / file
    with require("local", "entailment models in process"):
        from huggingface_hub import hf_hub_download
    return Path(hf_hub_download(name, file))


@cache
def _hashed(folder: Path) -> str:
    return weights_hash(folder)
