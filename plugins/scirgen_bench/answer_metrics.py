"""Compares answers with references, for the metrics of `adapters.hf_evaluate`: by their words, and by a judge of
entailment."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from rapidfuzz.distance import LCSseq

from scirgen import Entailment, ModelError
from scirgen.core.registry import returned_list
from scirgen.core.text.words import words_and_numbers
from scirgen.llm.encoders.entailment import EntailmentModel, open_entailment
from scirgen.plugin import Registry, load_registry

Judge = EntailmentModel
THRESHOLD: Final = 0.5
"""An answer is right if it entails its reference with more than this probability (ScIRGen, section 4.1)."""

_NUMBER = re.compile(r"[-+]?\d+(?:,\d{3})*(?:\.\d+)?")
_ARTICLES = {"a", "an", "the"}


def rouge_l(answer: str, reference: str) -> float:
    """Compute ROUGE-L F1 over lower-cased words (Lin 2004): longest common subsequence over both lengths.

    Not by Hugging Face's `evaluate`: it fetches the metric's code when used, and its tokenizer drops all letters but a
    to z.
    """
    left, right = words_and_numbers(answer), words_and_numbers(reference)
    if not left or not right:
        return 0.0
    common: int = LCSseq.similarity(left, right)
    return 2 * common / (len(left) + len(right))


def exact_match(answer: str, reference: str) -> float:
    """Return 1 if both have the same words in the same order, ignoring case, punctuation and articles; otherwise 0."""
    return float(_words(answer) == _words(reference))


def number_match(answer: str, reference: str) -> float | None:
    """Check whether the answer has exactly the reference's numbers; None if the reference has no number."""
    wanted = _numbers(reference)
    return float(_numbers(answer) == wanted) if wanted else None


def _numbers(text: str) -> set[float]:
    return {float(n.replace(",", "")) for n in _NUMBER.findall(text)}


def _words(text: str) -> list[str]:
    return [w for w in words_and_numbers(text) if w not in _ARTICLES]


def open_judge(uri: str, registry: Registry | None = None, options: Mapping[str, object] | None = None) -> Judge:
    """Return the model that decides whether an answer entails its reference: ``hf:NLI_MODEL_OR_DIR`` (a local folder
    needs no network), or ``lexical:words``, which counts shared words.

    Raises:
        ConfigError: an unknown scheme.
    """
    return open_entailment(uri, registry or load_registry(), options or {})


async def entailments(pairs: Sequence[tuple[str, str]], model: Judge) -> list[Entailment | ModelError]:
    """Ask a model about pairs, and check what it returns."""
    return returned_list(model.entail, await model.entail(pairs), (Entailment, ModelError), "an Entailment")


async def question_entails(asked: Sequence[tuple[str, str, str]], entailment: Judge) -> list[Entailment | None]:
    """Judge whether answers entail references, for (question, answer, reference); None where the model failed.

    Both sides carry the question, so that "Yes" means something; except for a model that only counts words.
    """
    pairs = [(a, r) if entailment.counts_words else (f"{q} {a}", f"{q} {r}") for q, a, r in asked]
    return [e if isinstance(e, Entailment) else None for e in await entailments(pairs, entailment)]
