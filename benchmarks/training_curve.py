"""Does training on scirgen's rows help an encoder on people's queries? The curve by number of rows.

    python -m benchmarks.training_curve BASE WORK [--data ../shared/data] [--json examples/proof/training.json]

Rows: the public sample (its `pairs`), the rows about DataFinder's collection (examples/proof), and, where `--data` has
them, the rows of two earlier runs that most of three readers found supported. `scirgen retriever train` learns from
150, 300, 600 and all of them, and from all that are not about DataFinder's collection. Measured is nDCG@10 on the
people's queries of DataFinder's development half over the descriptions that answer one and 1,500 others, drawn at
random, of which 48 tokens are read: two small processors cannot do more for each model. An interrupted command goes on
where it stopped. Only scores go to the file.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from scirgen import Release, ReleaseRow
from scirgen.plugin import SPLITS, load_registry
from scirgen.release_files.release import CorpusDocument, ReleaseInfo
from scirgen_bench.metrics import per_query
from scirgen_bench.pairs import training_pairs
from scirgen_bench.rank_agreement import Query, Searched, read_corpus, read_queries
from scirgen_bench.retriever import make_retriever
from scirgen_bench.train import TrainingSettings, train_retriever
from scirgen_local.embeddings import SENTENCE, load

_EXAMPLES = Path(__file__).parent.parent / "examples"
_SIZES = (150, 300, 600, None)
_EPOCHS, _BATCH = 2, 32
_TOKENS = 48
_OTHERS = 1500
"""Descriptions that are searched beside those that answer a query."""


@dataclass(frozen=True)
class Pair:
    """A question, the texts that answer it, and where it is from."""

    question: str
    positive: tuple[str, ...]
    origin: str


def own_pairs(data: Path) -> Iterator[Pair]:
    """Yield every row of scirgen's own that there is, as a training pair."""
    for folder in sorted((_EXAMPLES / "release" / "release").iterdir()):
        release = Release(folder)
        text = {p.id: p.text for p in release.passages()}
        for line in (line for split in SPLITS for line in training_pairs(release, split)):
            yield Pair(str(line["query"]), tuple(text[id] for id in _ids(line["pos_ids"])), "sample")
    corpus = datafinder(data)
    known = {d.id: f"{d.title} {d.text}" for d in corpus}
    for query in with_gold(_EXAMPLES / "proof" / "datafinder.jsonl", corpus):
        yield Pair(query.text, tuple(known[g] for g in query.gold), "datafinder")
    for name in ("desk", "desk2"):
        for row in map(json.loads, (data / name / "rows.jsonl").read_text(encoding="utf-8").splitlines()):
            if row.get("released", row.get("accepted")) and _supported(row["verdicts"]):
                yield Pair(row["question"], (" ".join(row["evidence"]),), name)


def _ids(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _supported(verdicts: object) -> bool:
    """Return whether most readers found the answer supported; the two files have different forms."""
    if isinstance(verdicts, dict):
        votes = [vote == "yes" for vote in verdicts["supported"]]
    else:
        votes = [bool(one["supported"]) for one in verdicts] if isinstance(verdicts, list) else []
    return sum(votes) * 2 > len(votes)


def datafinder(data: Path) -> list[Searched]:
    """Return the descriptions of DataFinder's collection."""
    return read_corpus(data / "recipes" / "datafinder" / "documents.jsonl.gz")


def with_gold(file: Path, corpus: Sequence[Searched]) -> list[Query]:
    """Return a file's queries with gold among the documents; the files write underscores for spaces in names."""
    known = {d.id.replace(" ", "_"): d.id for d in corpus}
    queries = (Query(q.text, tuple(known[g] for g in q.gold if g in known)) for q in read_queries(file))
    return [query for query in queries if query.gold]


def searched(corpus: Sequence[Searched], people: Sequence[Query]) -> list[Searched]:
    """Return the documents that answer a query, and some others."""
    gold = {id for query in people for id in query.gold}
    others = random.Random(0).sample([d for d in corpus if d.id not in gold], _OTHERS)
    return [d for d in corpus if d.id in gold] + others


def write_release(folder: Path, pairs: Sequence[Pair]) -> None:
    """Write what `scirgen retriever train` reads: the texts as documents, the questions as split train."""
    place: dict[str, str] = {}
    for pair in pairs:
        for text in pair.positive:
            place.setdefault(text, f"d{len(place):05}")
    (folder / "corpus").mkdir(parents=True, exist_ok=True)
    info = ReleaseInfo(name="own rows", origin="benchmarks.training_curve", scirgen="")
    (folder / "release.json").write_text(info.model_dump_json(), encoding="utf-8")
    documents = (CorpusDocument(id=id, title="", text=text) for text, id in place.items())
    rows = (
        ReleaseRow(
            id=f"q{n}", dataset_id=place[p.positive[0]], dataset_ids=tuple(place[t] for t in p.positive),
            split="train", question=p.question, answer="-", question_type="",
        )
        for n, p in enumerate(pairs)
    )  # fmt: skip
    for file, records in (("corpus/without-paper.jsonl", documents), ("train.jsonl", rows)):
        (folder / file).write_text("".join(r.model_dump_json() + "\n" for r in records), encoding="utf-8")


def measure(spec: str, corpus: Sequence[Searched], queries: Sequence[Query]) -> list[float]:
    """nDCG@10 of a retriever for each query."""
    retriever = make_retriever(load_registry(), spec)
    retriever.index([f"{d.title} {d.text}" for d in corpus])
    names = [str(n) for n in range(len(queries))]
    qrels = {name: dict.fromkeys(query.gold, 1) for name, query in zip(names, queries, strict=True)}
    ranking = retriever.search([q.text for q in queries], 10)
    return [round(float(x), 4) for x in per_query(ranking, names, [d.id for d in corpus], qrels)["NDCG@10"]]


def with_short_window(base: str, work: Path) -> str:
    """Save the encoder so that it reads 48 tokens of a text, before and after training; return the folder."""
    model = load(SENTENCE, base)
    model.max_seq_length = _TOKENS
    model.save_pretrained(str(work / "base"))
    return str(work / "base")


def train(base: str, work: Path, pairs: Sequence[Pair], seed: int) -> Path:
    """Train on the pairs with the command's own defaults, but for what two small processors ask; return the folder."""
    out = work / "model"
    if (out / "training.json").is_file():
        return out
    write_release(work / "release", pairs)
    steps = max(8, round(_EPOCHS * sum(len(p.positive) for p in pairs) / _BATCH))
    settings = TrainingSettings(
        steps=steps, batch=_BATCH, max_tokens=_TOKENS, frozen_layers=3, evaluate_every=steps,
        select_on="train", dev_documents=100, learning_rate=8e-5, seed=seed,
    )  # fmt: skip
    train_retriever(Release(work / "release"), base, out, settings)
    return out


def arms(pairs: Sequence[Pair], seeds: Sequence[int]) -> Iterator[tuple[str, int, list[Pair]]]:
    """Yield name, seed and rows of each training: all rows, draws of some, and all that are not about DataFinder."""
    others = [pair for pair in pairs if pair.origin != "datafinder"]
    for seed in seeds:
        for size in reversed(_SIZES):
            drawn = random.Random(seed).sample(pairs, min(size or len(pairs), len(pairs)))
            yield ("all" if size is None else str(size)), seed, drawn
        yield "all but DataFinder's", seed, random.Random(seed).sample(others, len(others))


def main() -> None:
    """Train, measure, and write the scores after each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", help="the encoder's folder")
    parser.add_argument("work", type=Path, help="folder for releases and models")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--json", type=Path, default=_EXAMPLES / "proof" / "training.json")
    parser.add_argument("--seeds", default="0,1,2")
    given = parser.parse_args()
    torch.set_num_threads(1)
    base = with_short_window(given.base, given.work)
    corpus = datafinder(given.data)
    people = with_gold(given.data / "recipes" / "datafinder" / "topics.jsonl", corpus)
    corpus = searched(corpus, people)
    pairs = [pair for pair in own_pairs(given.data) if pair.positive]
    origins = {o: sum(p.origin == o for p in pairs) for o in sorted({p.origin for p in pairs})}
    print(len(pairs), origins, len(people), "queries", flush=True)
    kept = json.loads(given.json.read_text(encoding="utf-8"))["scores"] if given.json.is_file() else {}
    scores: dict[str, dict[str, list[float]]] = kept
    todo = [("bm25", 0, []), ("untrained", 0, []), *arms(pairs, [int(s) for s in given.seeds.split(",")])]
    for name, seed, rows in todo:
        if str(seed) in scores.get(name, {}):
            continue
        spec = "bm25" if name == "bm25" else f"st:{base}"
        if rows:
            spec = f"st:{train(base, given.work / f'{name}-{seed}'.replace(' ', '-'), rows, seed)}"
        scores.setdefault(name, {})[str(seed)] = measure(spec, corpus, people)
        print(name, seed, len(rows), round(sum(scores[name][str(seed)]) / len(people), 4), flush=True)
        result = {"rows": origins, "documents": len(corpus), "scores": scores}
        given.json.write_text(json.dumps(result) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
