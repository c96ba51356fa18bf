"""Measures how hard, alike and recognisable sets of questions are: scirgen's, ScIRGen-Geo's, people's.

    python -m benchmarks.question_sets DATA --encoder MINILM [--json examples/proof/question_sets.json]

DATA is the folder of real data (`geo`, `recipes`, `questions`). Hard: the share of questions for which the search of
a run (BM25) has a gold document among the first five, and the share of a question's terms that its gold has; the
sample's are those of its rows and cards (`bm25_rank`, `overlap`). Alike: of at most 200 questions,
the share with a neighbour above a cosine of .8. Recognisable: the AUC of a classifier that tells the set from people's
by 1- to 3-grams of words, content words masked so that the subject cannot tell (.5: it cannot). ScIRGen-Geo's test
questions are held back by its authors: its dev part stands for them.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from scirgen import Release
from scirgen.core.text.analysis import terms
from scirgen.core.text.bm25 import BM25
from scirgen.plugin import read_objects
from scirgen_bench.published.scirgen_geo_files import questions, records_in
from scirgen_bench.rank_agreement import read_corpus, read_queries
from scirgen_local.embeddings import open_embedder

_PROOF = Path(__file__).parent.parent / "examples" / "proof"
_SAMPLES = [_PROOF.parent / "release" / "release" / name for name in ("en", "en-infection", "en-plos")]
_DRAWN, _NEAR, _FIRST = 200, 0.8, 5
_REPEATS = 10
_KEPT = """
a an the of in on at to for from by with and or but not no is are was were be been being do does did has have had can
could may might will would should how what which who whom whose when where why that this these those it its they them
their there than then as if so such into over under between among during after before through within without about
across per each any some most more many much few less least other another same new only also both either neither i you
we he she me my your our please explain describe outline summarise tell sure understand know example purpose role effect
effects impact affect compare compared difference differ differences result cause caused
"""
"""Words that are not masked."""


@dataclass(frozen=True)
class Asked:
    """A question, the positions of the documents that answer it (none where nobody knows), and what a release says:
    the rank of the first and the share of the question's terms in them."""

    text: str
    gold: tuple[int, ...] = ()
    rank: int | None = None
    overlap: float | None = None


@dataclass(frozen=True)
class QuestionSet:
    """Questions and the texts that they search; without texts if nobody says which answer them."""

    asked: Sequence[Asked]
    documents: Sequence[str] = ()


def of_sample() -> dict[str, QuestionSet]:
    """Return the English questions of the sample by origin and release; they search their release's passages."""
    found: dict[str, QuestionSet] = {}
    for folder in _SAMPLES:
        release = Release(folder)
        texts = [p.searched for p in release.passages()]
        origins: dict[str, list[Asked]] = {}
        for row in release.rows():
            told: dict[str, Any] = dict(row.added())
            if told["bm25_rank"] is not None:
                one = Asked(row.question, rank=told["bm25_rank"], overlap=told["overlap"])
                origins.setdefault(row.asked, []).append(one)
        found |= {f"{origin}, {folder.name}": QuestionSet(asked, texts) for origin, asked in sorted(origins.items())}
    return found


def of_others(data: Path) -> Iterator[tuple[str, QuestionSet]]:
    """Yield the sets that need data from elsewhere."""
    corpus = read_corpus(data / "recipes" / "datafinder" / "documents.jsonl.gz")
    place = {d.id.replace(" ", "_"): n for n, d in enumerate(corpus)}
    texts = [f"{d.title} {d.text}" for d in corpus]
    for name, file in (
        ("asked first about DataFinder's collection", _PROOF / "datafinder.jsonl"),
        ("people: DataFinder", data / "recipes" / "datafinder" / "topics.jsonl"),
    ):
        asked = (Asked(q.text, tuple(place[g] for g in q.gold if g in place)) for q in read_queries(file))
        yield name, QuestionSet([one for one in asked if one.gold], texts)
    yield "people: DORIS-MAE", _doris(data / "recipes" / "dorismae")
    yield "ScIRGen-Geo", _geo(data / "geo" / "records.jsonl.gz")
    for name in ("scholarqabench-bio", "scholarqabench-neuro", "scidqa"):
        asked = [Asked(str(v["question"])) for _, v in read_objects(data / "questions" / f"{name}.jsonl", hint="")]
        yield f"people: {name}", QuestionSet(asked)


def _doris(folder: Path) -> QuestionSet:
    """Return the labelled queries; an abstract answers one if its graded aspects add up to their number."""
    documents = {str(v["id"]): str(v["text"]) for _, v in read_objects(folder / "birco_corpus.jsonl.gz", hint="")}
    place = {id: n for n, id in enumerate(documents)}
    gold: dict[str, list[int]] = {}
    for line in gzip.decompress((folder / "birco_qrels.tsv.gz").read_bytes()).decode().splitlines()[1:]:
        query, document, _, share, _ = line.split("\t")
        if float(share) >= 1:
            gold.setdefault(query, []).append(place[document])
    texts = {str(v["id"]): str(v["text"]) for _, v in read_objects(folder / "queries.jsonl", hint="")}
    return QuestionSet([Asked(texts[q], tuple(found)) for q, found in sorted(gold.items())], list(documents.values()))


def _geo(file: Path) -> QuestionSet:
    """Return 500 questions of the dev part, drawn at random; they search titles and descriptions of all records."""
    texts: list[str] = []
    asked: list[Asked] = []
    for record, split, _ in records_in(file):
        metadata = record["context"]["metadata"]  # type: ignore[index]
        if split == "dev":
            asked += [Asked(q.question, (len(texts),)) for q in questions(record)]
        texts.append(f"{metadata.get('titleEn') or ''} {metadata.get('description') or ''}")
    return QuestionSet(random.Random(0).sample(asked, 500), texts)


def measure(chosen: QuestionSet, encoder: str) -> dict[str, float]:
    """Return number and length of the questions, and what of hard and alike can be measured."""
    asked = ranked(chosen)
    figures: dict[str, float] = {"questions": len(asked), "words": round(mean(len(a.text.split()) for a in asked), 1)}
    if chosen.documents:
        figures |= {
            "documents": len(chosen.documents),
            "found": round(mean(0 < (a.rank or 0) <= _FIRST for a in asked), 3),
            "overlap": round(mean(a.overlap or 0.0 for a in asked), 3),
        }
    drawn = random.Random(0).sample(list(asked), min(_DRAWN, len(asked)))
    vectors = open_embedder(encoder).embed([a.text for a in drawn], "query")
    alike = vectors @ vectors.T - 2 * np.eye(len(drawn))
    return figures | {"near": round(float((alike.max(axis=1) > _NEAR).mean()), 3)}


def ranked(chosen: QuestionSet) -> list[Asked]:
    """Return the questions, those with gold and no rank as a run would rank it."""
    found = [terms(text, "en") for text in chosen.documents] if any(a.gold for a in chosen.asked) else []
    index, asked = BM25(found), []
    for one in chosen.asked:
        if one.gold:
            words = terms(one.text, "en")
            first = [n for n, score in index.ranked(words)[:_FIRST] if score > 0]
            rank = next((n for n, document in enumerate(first, 1) if document in one.gold), 0)
            held = {term for n in one.gold for term in found[n]}
            one = replace(one, rank=rank, overlap=len(held & {*words}) / max(1, len({*words})))
        asked.append(one)
    return asked


def masked(question: str) -> str:
    """Replace content words, names and numbers, so that a question's subject cannot tell who wrote it."""
    kept, out = frozenset(_KEPT.split()), list[str]()
    for word in re.findall(r"[A-Za-z][\w'’-]*|\d[\d.,–-]*|[^\w\s]", question):
        if word.lower() in kept or not word[0].isalnum():
            out.append(word.lower())
        elif word[0].isdigit():
            out.append("0")
        else:
            out.append("Nn" if word[0].isupper() and out else "xx")
    return " ".join(out)


def auc(mine: Sequence[str], theirs: Sequence[str]) -> float:
    """Return the AUC of telling two sets apart in five folds, the mean of ten draws of as many questions of each."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import cross_val_predict

    size = min(len(mine), len(theirs), _DRAWN)
    truth = np.r_[np.ones(size), np.zeros(size)]
    values = []
    for seed in range(_REPEATS):
        draw = random.Random(seed)
        texts = [masked(q) for q in draw.sample(list(mine), size) + draw.sample(list(theirs), size)]
        counts = CountVectorizer(ngram_range=(1, 3), token_pattern=r"\S+", min_df=3, binary=True).fit_transform(texts)
        model = LogisticRegression(C=0.3, max_iter=2000)
        told = cross_val_predict(model, counts, truth, cv=5, method="predict_proba")[:, 1]
        values.append(float(roc_auc_score(truth, told)))
    return round(mean(values), 3)


def main() -> None:
    """Measure all sets, and tell scirgen's and one of people's from each set of people."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--encoder", required=True)
    parser.add_argument("--json", type=Path, default=_PROOF / "question_sets.json")
    given = parser.parse_args()
    others = dict(of_others(given.data))
    sample = of_sample()
    texts: Mapping[str, list[str]] = {n: [a.text for a in s.asked] for n, s in (sample | others).items()}
    people = [name for name in others if name.startswith("people") and len(texts[name]) >= _DRAWN * 0.9]
    told = {
        name: {other: auc(texts[name], texts[other]) for other in people if other != name}
        for name in (*sample, "asked first about DataFinder's collection", "ScIRGen-Geo", *people)
    }
    result = {"sets": {name: measure(s, given.encoder) for name, s in others.items()}, "auc": told}
    given.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
