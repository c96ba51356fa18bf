"""Writes the halves of `shared/data/recipes` as the authors' own files, by their names, so that the importers read
them."""

from __future__ import annotations

import csv
import gzip
import json
from collections import defaultdict
from pathlib import Path


def rows(path: Path) -> list[dict]:
    opened = gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8")  # noqa: SIM115
    with opened as lines:
        return list(csv.DictReader(lines, delimiter="\t") if ".tsv" in path.suffixes else map(json.loads, lines))


def write_lines(path: Path, found) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")


def as_published(name: str, half: Path, folder: Path) -> Path:
    """The folder that ``scirgen import NAME`` reads."""
    folder.mkdir()
    {"datafinder": _datafinder, "csfcube": _csfcube, "dorismae": _dorismae}[name](half, folder)
    return folder


def _datafinder(half: Path, folder: Path) -> None:
    (folder / "data").mkdir()
    documents = [
        {"id": d["id"], "contents": d["text"], "title": d["title"], "variants": d["aliases"], "year": d["year"]}
        for d in rows(half / "documents.jsonl.gz")
    ]
    write_lines(folder / "data" / "dataset_search_collection.jsonl", documents)
    topics = rows(half / "topics.jsonl")
    stated = [
        {"documents": t["gold_names"], "year": t["year"], "keyphrase_query": t["keyphrases"], "query": t["text"]}
        | t["fields"]
        for t in topics
    ]
    (folder / "data" / "scirex_queries_and_datasets.json").write_text(json.dumps(stated, indent=0), encoding="utf-8")
    listed = [s for s, t in zip(stated, topics, strict=True) if t["in_test_data"]]
    for name in ("test_data.jsonl", "scirex_queries_and_datasets.jsonl"):  # the second is a copy, as in the repository
        write_lines(folder / "data" / name, listed)
    with (folder / "data" / "test_dataset_collection.qrels").open("w", encoding="utf-8", newline="") as out:
        cells = csv.writer(out, delimiter="\t")
        cells.writerow(["QueryID", "0", "DocID", "Relevance"])
        cells.writerows([t["id"], "Q0", gold, "1"] for t in topics for gold in t["gold"])


def _csfcube(half: Path, folder: Path) -> None:
    abstracts = [
        {
            "paper_id": a["id"],
            "title": a["title"],
            "metadata": {"year": a["year"]},
            "abstract": [s["text"] for s in a["sentences"]],
            "pred_labels": [f"{s['label']}_label" for s in a["sentences"]],
        }
        for a in rows(half / "abstracts.jsonl.gz")
    ]
    write_lines(folder / "abstracts-csfcube-preds.jsonl", abstracts)
    judged: dict[str, dict] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    pool: dict[str, dict[str, list[str]]] = defaultdict(dict)
    folds: dict[str, dict] = defaultdict(lambda: {"fold1_dev": [], "fold1_test": []})
    for row in rows(half / "judgements.tsv.gz"):
        paper, facet = row["query"].split("_")
        columns = judged[facet][paper]
        columns["cands"].append(row["paper"])
        columns["relevance_adju"].append(int(row["adjudicated"]))
        columns[f"relevance_{row['rater_a']}"].append(int(row["a"]))
        columns[f"relevance_{row['rater_b']}"].append(int(row["b"]))
        pool[paper][row["paper"]] = [s for s in row["sources"].split(",") if s]
        if row["query"] not in folds[facet]["fold1_dev"]:
            folds[facet]["fold1_dev"].append(row["query"])
    for facet, papers in judged.items():
        (folder / f"test-pid2anns-csfcube-{facet}.json").write_text(json.dumps(papers), encoding="utf-8")
    pooled = {p: {"cands": list(found), "cand_source": list(found.values())} for p, found in pool.items()}
    (folder / "test-pid2pool-csfcube.json").write_text(json.dumps(pooled), encoding="utf-8")
    (folder / "evaluation_splits.json").write_text(json.dumps(folds), encoding="utf-8")


def _dorismae(half: Path, folder: Path) -> None:
    """The half has sums of grades only: each is given to the first aspect, and no aspect has its sentences."""
    corpus = {int(d["id"].removeprefix("c_")): d["text"] for d in rows(half / "birco_corpus.jsonl.gz")}
    sums: dict[str, dict[int, int]] = defaultdict(dict)
    for row in rows(half / "birco_qrels.tsv.gz"):
        sums[row["query"]][int(row["doc"].removeprefix("c_"))] = int(row["sum"])
    texts: dict[str, str] = {}
    annotation: list[dict] = []
    queries = [_no_query() for _ in range(100)]
    for found in rows(half / "queries.jsonl"):
        own = found["id"]
        aspects = {
            texts.setdefault(a["text"], f"{len(texts)}"): [
                texts.setdefault(s["text"], f"{len(texts)}") for s in a["sub"]
            ]
            for a in found["aspects"]
        }
        queries[int(own.removeprefix("q_"))] = _no_query() | {
            "query_text": found["text"],
            "candidate_pool": list(sums[own]),
            "aspects": aspects,
            "aspect_id2sent": {a: [] for a in aspects},
        }
        first = next(iter(aspects))
        for document, total in sums[own].items():
            known = {a for other in queries for a in other["aspects"] if document in other["candidate_pool"]}
            assert first not in known - set(aspects)
            annotation.append({"aspect_id": first, "abstract_id": document, "score": total})
    corpus_list = [{"original_abstract": corpus.get(i, "")} for i in range(max(corpus) + 1)]
    data = {
        "Query": queries,
        "Corpus": corpus_list,
        "Annotation": annotation,
        "aspect_id2aspect": {number: text for text, number in texts.items()},
        "aspect2aspect_id": texts,
    }
    (folder / "DORIS-MAE_dataset_v1.json").write_text(json.dumps(data), encoding="utf-8")


def _no_query() -> dict:
    return {
        "query_text": "",
        "query_type": "",
        "candidate_pool": [],
        "aspects": {},
        "aspect_id2sent": {},
        "sent2aspect_id": {},
    }
