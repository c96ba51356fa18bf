"""A LlamaIndex system, with its own splitter and retriever, scored by the answer spans of a release."""

from __future__ import annotations

import json
import re
import zlib

import pytest

pytestmark = pytest.mark.rag


def test_a_llama_index_retriever_is_scored(tmp_path):
    from llama_index.core import Document, VectorStoreIndex
    from llama_index.core.embeddings import BaseEmbedding
    from llama_index.core.node_parser import SentenceSplitter

    from scirgen.release_files.release import Release
    from scirgen_bench.rag.evaluate import asked_rows, evaluate_rag, read_systems
    from tests.support.release_writing import write
    from tests.wings.bench.test_passage_retrieval import sought_run

    class Words(BaseEmbedding):
        """Counts of hashed words, so that no model is downloaded."""

        def _get_text_embedding(self, text: str) -> list[float]:
            counts = [0.0] * 4096
            for word in re.findall(r"\w+", text.lower()):
                counts[zlib.crc32(word.encode()) % 4096] = 1.0
            return counts

        def _get_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

    write(sought_run(), tmp_path / "release")
    release = Release(tmp_path / "release")
    # What a user has: texts by document. Here they are put together from the release's own passages.
    texts: dict[str, list[str]] = {}
    for passage in release.passages():
        texts.setdefault(passage.document_id, []).append(passage.text)
    documents = [Document(text=" ".join(parts), metadata={"document": name}) for name, parts in texts.items()]

    index = VectorStoreIndex.from_documents(
        documents, transformations=[SentenceSplitter(chunk_size=160, chunk_overlap=20)], embed_model=Words()
    )
    retriever = index.as_retriever(similarity_top_k=3)
    with (tmp_path / "llama.jsonl").open("w") as out:
        for row in release.rows():
            nodes = retriever.retrieve(row.question)
            chunks = [{"text": n.get_content(), "document": n.metadata["document"]} for n in nodes]
            out.write(json.dumps({"id": row.id, "chunks": chunks, "answer": ""}) + "\n")

    systems = read_systems([tmp_path / "llama.jsonl"])
    [line] = evaluate_rag(release, systems, asked_rows(release, systems), {}).rows
    assert line.aligned is not None and line.aligned > 0.9
    assert line.metrics["recall"] > 0.5
