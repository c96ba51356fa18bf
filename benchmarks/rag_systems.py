"""Two complete RAG systems on a release: windows of words, BM25 or BM25 with an encoder, one reader model.

    python -m benchmarks.rag_systems examples/release/release/en OUT --encoder MINILM --reader http://127.0.0.1:8080

A stranger's pipeline in plain Python: it reads the release's texts and questions and nothing else of it, and knows
neither spans nor grades. It writes OUT/bm25.jsonl and OUT/hybrid.jsonl, which `scirgen benchmark rag` scores: chunks
for all questions asked first and some known items, answers for the first `--answers` of them, in random order. The
reader is any server with OpenAI's chat protocol. The files have the answers so far; replies are kept in
OUT/replies.json, so an interrupted command goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import httpx2

from scirgen import Release, ReleaseRow
from scirgen.plugin import load_registry
from scirgen_bench.retriever import make_retriever

_WORDS, _STEP, _CHUNKS = 80, 60, 3
_TOKENS = 60
Found = Mapping[str, Sequence[list[dict[str, str]]]]
"""System -> the chunks for each question, best first."""
_ASK = "Answer the question from these passages, in one or two sentences.\n\n{passages}\n\nQuestion: {question}"


def windows(release: Release) -> list[dict[str, str]]:
    """Return the texts of each source in windows of 80 words, 20 of them shared with the next."""
    texts: dict[str, list[str]] = {}
    for passage in release.passages():
        texts.setdefault(passage.document_id, []).extend(passage.text.split())
    return [
        {"text": " ".join(words[at : at + _WORDS]), "document": document}
        for document, words in texts.items()
        for at in range(0, max(1, len(words) - _WORDS + _STEP), _STEP)
    ]


def asked(release: Release, known_items: int) -> list[ReleaseRow]:
    """Return all questions asked first and some known items, in random order."""
    draw, rows = random.Random(0), list(release.rows())
    rest = [row for row in rows if row.asked == "known_item"]
    chosen = [row for row in rows if row.asked != "known_item"] + draw.sample(rest, min(known_items, len(rest)))
    return draw.sample(chosen, len(chosen))


def read(server: str, prompt: str) -> str:
    """Return the reader's answer.

    Raises:
        httpx2.HTTPError: the server does not answer.
    """
    body = {"messages": [{"role": "user", "content": prompt}], "temperature": 0, "max_tokens": _TOKENS}
    reply = httpx2.post(f"{server}/v1/chat/completions", json=body, timeout=600)
    return str(reply.raise_for_status().json()["choices"][0]["message"]["content"]).strip()


def prompt_of(question: str, chunks: Sequence[dict[str, str]]) -> str:
    """Return what the reader is asked."""
    return _ASK.format(passages="\n\n".join(chunk["text"] for chunk in chunks), question=question)


def write(out: Path, rows: Sequence[ReleaseRow], found: Found, replies: Mapping[str, str]) -> None:
    """Write each system's chunks, and the answers that there are."""
    for name, best in found.items():
        lines = (
            {"id": row.id, "chunks": held, "answer": replies.get(prompt_of(row.question, held), "")}
            for row, held in sorted(zip(rows, best, strict=True), key=lambda one: one[0].id)
        )
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (out / f"{name}.jsonl").write_text(text, encoding="utf-8")


def main() -> None:
    """Search for all questions, then answer one after the other with both systems."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("release", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--encoder", required=True)
    parser.add_argument("--reader", required=True)
    parser.add_argument("--known-items", type=int, default=30)
    parser.add_argument("--answers", type=int, default=100)
    given = parser.parse_args()
    release = Release(given.release)
    chunks, rows = windows(release), asked(release, given.known_items)
    print(len(chunks), "chunks,", len(rows), "questions", flush=True)
    found: dict[str, Sequence[list[dict[str, str]]]] = {}
    for name, spec in (("bm25", "bm25"), ("hybrid", f"hybrid:bm25+st:{given.encoder}")):
        retriever = make_retriever(load_registry(), spec)
        retriever.index([chunk["text"] for chunk in chunks])
        positions = retriever.search([row.question for row in rows], _CHUNKS).documents.tolist()
        found[name] = [[chunks[n] for n in best if n >= 0] for best in positions]
    kept = given.out / "replies.json"
    replies: dict[str, str] = json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else {}
    write(given.out, rows, found, replies)
    for n, row in enumerate(rows[: given.answers]):
        for prompt in (prompt_of(row.question, best[n]) for best in found.values()):
            if prompt not in replies:
                replies[prompt] = read(given.reader, prompt)
        kept.write_text(json.dumps(replies), encoding="utf-8")
        write(given.out, rows, found, replies)


if __name__ == "__main__":
    main()
