"""Entailment by a model of Hugging Face's in this process (``hf:ID_OR_DIR``)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from scirgen import Entailment, ModelError, ModelURI
from scirgen.llm.encoders.entailment import NamedEntailment
from scirgen_local.loading import weights_hash
from scirgen_local.verifiers import Verifier, load_verifier


class ClassifierEntailment(NamedEntailment):
    """A model of Hugging Face's: any classifier for natural language inference, MiniCheck, FactCG, HHEM-2.1-open or
    Granite Guardian (`verifiers`)."""

    _loaded: dict[str, Verifier] = {}  # noqa: RUF012 - shared on purpose: weights are loaded once a process

    @classmethod
    def content_identity(cls, uri: ModelURI) -> str:
        """A hash of the model's files in the place of a folder's path."""
        folder = Path(uri.name).expanduser()
        return f"{uri.scheme}:{_hashed(folder)}" if folder.is_dir() else str(uri)

    async def entail(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment | ModelError]:
        """See `EntailmentModel`. Pairs that do not fit the model's window are refused, not cut."""
        return await asyncio.to_thread(self._entail, list(pairs))

    def _entail(self, pairs: list[tuple[str, str]]) -> list[Entailment | ModelError]:
        if self.uri.name not in self._loaded:
            self._loaded[self.uri.name] = load_verifier(self.uri.name, self.options)
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
            if not fitting:
                continue
            rows = model.read(model.encode([pairs[i] for i in fitting]))
            for i, (entailed, against) in zip(fitting, rows, strict=True):
                found[i] = Entailment(entailed, max(0.0, 1.0 - entailed - against), against, model.only)
        return [found[i] for i in range(len(pairs))]


@cache
def _hashed(folder: Path) -> str:
    return weights_hash(folder)
