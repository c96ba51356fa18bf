"""Passages are whole sentences with stable ids, and a search finds them in the same order on every machine."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scirgen.core.corpus import Corpus, Passage, Sentence, passages_of, record_passage
from scirgen.core.corpus.cut import PASSAGE_WORDS, TABLE_WORDS
from scirgen.core.corpus.stored import Embed
from scirgen.core.records import Block, BlockKind, Dataset, Document, Paper
from scirgen.core.text.analysis import terms
from scirgen.stages.parse.assemble import assemble
from scirgen.stages.parse.base import ParsedBlock, ParsedPaper
from scirgen.stages.parse.grid import GivenCell, table_block


def document(*blocks: tuple[BlockKind, tuple[str, ...], str], id: str = "doc-1") -> Document:
    made, text = [], ""
    for kind, path, said in blocks:
        made.append(Block(kind=kind, start=len(text), end=len(text) + len(said), heading_path=path))
        text += said + "\n"
    return Document(id=id, paper_id="p", text=text, blocks=tuple(made), title="Lake ice")


SENTENCES = st.lists(st.integers(3, 60).map(lambda n: "The " + "ice " * n + "melts."), min_size=1, max_size=12)


@given(st.lists(st.tuples(st.sampled_from(["A", "B"]), SENTENCES), min_size=1, max_size=5))
def test_passages_hold_each_sentence_once_and_cross_no_heading(parts: list[tuple[str, list[str]]]) -> None:
    paper = document(*((BlockKind.PARAGRAPH, (head,), " ".join(said)) for head, said in parts))
    made = list(passages_of(paper))
    for passage in made:
        assert paper.text[passage.start : passage.end] == passage.text
        assert len(passage.text.split()) <= PASSAGE_WORDS or len(passage.sentences) == 1
        heads = {b.heading_path for b in paper.blocks if b.start < passage.end and passage.start < b.end}
        assert len(heads) == 1
    found = [s for p in made for s in p.sentences]
    assert all(a.end <= b.start for a, b in pairwise(found))
    assert [paper.text[s.start : s.end] for s in found] == [s for _, said in parts for s in said]


def test_references_are_no_passages_and_a_table_stands_alone() -> None:
    paper = document(
        (BlockKind.PARAGRAPH, ("A",), "Ice melts in spring."),
        (BlockKind.TABLE, ("A",), "lake | days\nInari | 190"),
        (BlockKind.PARAGRAPH, ("A",), "Lakes freeze in autumn."),
        (BlockKind.REFERENCE, (), "Mori, A. (2019). Lakes. Ice 3, 1-9."),
    )
    assert [p.text for p in passages_of(paper)] == [
        "Ice melts in spring.", "lake | days\nInari | 190", "Lakes freeze in autumn.",
    ]  # fmt: skip


def test_all_parts_of_a_long_table_without_cells_are_of_a_table() -> None:
    rows = "\n".join(f"lake number {n} has {n} days of ice" for n in range(40))
    parts = list(passages_of(document((BlockKind.TABLE, ("A",), rows))))
    assert len(parts) > 1 and {p.medium for p in parts} == {"table"}


def test_sentences_know_their_page() -> None:
    paper = document((BlockKind.PARAGRAPH, ("A",), "Ice melts in spring."))
    [block] = paper.blocks
    paper = paper.model_copy(update={"blocks": (block.model_copy(update={"page": 4, "bbox": (1.0, 2.0, 3.0, 4.0)}),)})
    [sentence] = next(passages_of(paper)).sentences
    assert (sentence.page, sentence.bbox) == (4, (1.0, 2.0, 3.0, 4.0))


def test_a_passage_keeps_its_id_when_text_behind_it_changes() -> None:
    first = document((BlockKind.PARAGRAPH, ("A",), "Ice melts."), (BlockKind.PARAGRAPH, ("B",), "Snow falls."))
    second = document((BlockKind.PARAGRAPH, ("A",), "Ice melts."), (BlockKind.PARAGRAPH, ("B",), "Rain falls."))
    assert next(p.id for p in passages_of(first)) == next(p.id for p in passages_of(second))


def built(folder: Path, digest: str = "1", embed: Embed | None = None) -> Corpus:
    texts = (
        "Thickness of lake ice was measured.",
        "Snow depth fell.",
        "湖冰的厚度在冬天增加。",
        "A espessura do gelo.",
    )
    passages = [
        Passage(
            id=f"psg-{n}", document_id=f"d{n}", start=0, end=len(t), text=t, sentences=(Sentence(start=0, end=len(t)),)
        )
        for n, t in enumerate(texts)
    ]
    records = [record_passage(Dataset(id=f"r{n}", title=t)) for n, t in enumerate(texts)]
    return Corpus.build(folder / "corpus", digest, iter(passages), iter(records), embed)


def test_a_search_finds_stems_and_scripts_without_spaces(tmp_path: Path) -> None:
    corpus = built(tmp_path)
    assert [h.passage.id for h in corpus.search("passages", [("how thick are lakes", "en")], 3)] == ["psg-0"]
    assert [h.passage.id for h in corpus.search("passages", [("湖冰的厚度", "en")], 3)] == ["psg-2"]
    assert corpus.search("passages", [("the of and", "en")], 3) == []


def test_searches_are_merged_and_say_which_found_a_passage(tmp_path: Path) -> None:
    hits = built(tmp_path).search(
        "passages", [("snow depth", "en"), ("lake ice", "en"), ("depth of snow and ice", "en")], 2
    )
    assert {h.passage.id: h.ranks for h in hits} == {"psg-1": (1, 0, 1), "psg-0": (0, 1, 2)}
    assert [h.passage.id for h in hits] == ["psg-1", "psg-0"]


def test_what_a_question_was_asked_about_is_there_without_a_rank(tmp_path: Path) -> None:
    found = built(tmp_path).search("passages", [("snow depth", "en")], 2, "d0", 3)
    assert [(h.passage.id, h.ranks) for h in found] == [("psg-1", (1,)), ("psg-0", (0,))]
    ranked = built(tmp_path).search("passages", [("lake ice", "en")], 2, "d0", 3)
    assert [(h.passage.id, h.ranks) for h in ranked] == [("psg-0", (1,))]


def test_vectors_find_what_shares_no_word_and_are_merged_with_the_words(tmp_path: Path) -> None:
    def embed(texts: list[str], role: str, /) -> np.ndarray:
        cold = [[1.0, 0.0] if "ice" in t or "frozen" in t else [0.0, 1.0] for t in texts]
        return np.array(cold, dtype=np.float32)

    query = [("frozen water", "en")]
    assert built(tmp_path).search("passages", query, 1) == []
    [hit] = built(tmp_path, "dense", embed).search("passages", query, 1)
    assert (hit.passage.id, hit.ranks) == ("psg-0", (0, 1))
    assert built(tmp_path, "dense", embed).search("passages", [("lake ice", "en")], 1)[0].ranks == (1, 1)


def test_a_corpus_is_written_once_and_again_when_its_material_changes(tmp_path: Path) -> None:
    first = built(tmp_path)
    stamp = (first.folder / "corpus.json").stat().st_mtime_ns
    assert (built(tmp_path).folder / "corpus.json").stat().st_mtime_ns == stamp
    assert (built(tmp_path, "2").folder / "corpus.json").stat().st_mtime_ns > stamp
    assert sorted(p.name for p in tmp_path.iterdir()) == ["corpus"]


def test_an_empty_corpus_finds_nothing(tmp_path: Path) -> None:
    assert Corpus.build(tmp_path / "c", "1", (), ()).search("datasets", [("ice", "en")], 5) == []


def test_terms_are_stems_without_stop_words() -> None:
    assert terms("The lakes are freezing", "en") == ["lake", "freez"]
    assert terms("Los lagos están helados", "es")[-1] == terms("helado", "es")[0]
    assert terms("湖冰", "zh") == ["湖冰"] and terms("xyzzy plugh", "xx") == ["xyzzy", "plugh"]


def table_of(rows: int, *groups: int) -> Document:
    given_ = [[GivenCell("Lake"), GivenCell("Ice (days)")]]
    for n in range(rows):
        given_ += [[GivenCell(f"Region {n}", columns=2)]] if n in groups else []
        given_ += [[GivenCell(f"Lake number {n}"), GivenCell(str(100 + n))]]
    caption = ParsedBlock(kind=BlockKind.CAPTION, text="Table 1. Days with ice.")
    prose = ParsedBlock(kind=BlockKind.PARAGRAPH, text="Ice melts in spring.")
    parsed = ParsedPaper(parser="t", blocks=(prose, caption, table_block(given_, 1), prose))
    return assemble(Paper(id="p"), parsed)


def test_a_table_is_one_passage_with_its_caption() -> None:
    passages = list(passages_of(table_of(3)))
    assert [p.medium for p in passages] == ["text", "table", "text"]
    assert passages[1].text.startswith(
        "Table 1. Days with ice.\n\n| Lake | Ice (days) |\n| --- | --- |\n| Lake number 0 |"
    )
    assert len(passages[1].sentences) == 5


def test_a_long_table_is_cut_by_rows_with_caption_and_header() -> None:
    paper = table_of(150)
    parts = [p for p in passages_of(paper) if p.medium == "table"]
    assert len(parts) > 1 and all(len(f"{p.lead} {p.text}".split()) <= 2 * TABLE_WORDS for p in parts)
    for part in parts:
        said = [part.said(s) for s in part.sentences]
        assert said == [paper.text[s.start : s.end] for s in part.sentences]
        assert said[:2] == ["Table 1. Days with ice.", "| Lake | Ice (days) |"]
    rows = [row for p in parts for row in map(p.said, p.sentences) if "number" in row]
    assert rows == [f"| Lake number {n} | {100 + n} |" for n in range(150)]


def test_a_passage_of_an_older_store_loses_the_rows_that_it_repeated_and_nothing_else() -> None:
    row = {"start": 100, "end": 107}
    older = {
        "id": "p",
        "document_id": "d",
        "start": 100,
        "end": 107,
        "text": "| 2.5 |",
        "lead": "Table 1",
        "lead_start": 0,
    }
    passage = Passage.model_validate({**older, "sentences": [{"start": 0, "end": 7}, row]})
    assert [passage.said(s) for s in passage.sentences] == ["| 2.5 |"] and passage.lead == ""


def test_a_row_of_a_table_knows_its_caption_its_header_and_its_group() -> None:
    parts = [p for p in passages_of(table_of(150, 0, 2)) if p.medium == "table"]
    told = {p.said(s): [p.said(h) for h in p.sentences if h.start in s.heads] for p in parts for s in p.sentences}
    above = ["Table 1. Days with ice.", "| Lake | Ice (days) |"]
    assert told["| Lake number 1 | 101 |"] == [*above, "| Region 0 |  |"]
    assert told["| Lake number 149 | 249 |"] == [*above, "| Region 2 |  |"], "the group begins in an earlier part"
    assert told["| Region 2 |  |"] == told["| Lake | Ice (days) |"] == []
