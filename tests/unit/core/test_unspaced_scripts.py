"""Scripts without spaces: their words are pairs of characters, and a text has as many words as it is long."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scirgen.claims.borrowed import borrowed
from scirgen.core.text.passages import count_words, windows
from scirgen.core.text.words import telling_words, tokens_of, words_and_numbers

LINE = "该数据集为全球每日潜热通量数据集，空间分辨率为25 km。地表潜热通量是关键物理参量。模型输入包括植被指数！"


def test_words_are_pairs_of_characters_between_words_of_letters() -> None:
    assert tokens_of("MODIS湖冰厚度 map") == ["MODIS", "湖冰", "冰厚", "厚度", "map"]
    assert words_and_numbers("厚度3.5米") == ["厚度", "3.5", "米"]
    assert telling_words("湖冰厚度") == {"湖冰", "冰厚", "厚度"} and telling_words("ice of ox") == {"ice"}
    assert tokens_of("น้ำแข็ง")[0] == "น้"


@given(st.text("ab cdé.,", max_size=80))
def test_texts_with_spaces_have_the_words_between_them(text: str) -> None:
    assert count_words(text) == len(text.split())


def test_a_long_text_without_spaces_is_cut_at_its_sentences() -> None:
    cut = [LINE[a:b] for a, b in windows(LINE, 14)]
    assert "".join(cut) == LINE and len(cut) == 2 and all(count_words(c) <= 14 for c in cut)


def test_a_run_of_the_texts_characters_is_borrowed_and_a_term_is_not() -> None:
    assert "text's words" in borrowed("全球每日潜热通量在哪里", LINE, frozenset())
    assert not borrowed("怎样测量地表潜热", LINE, frozenset())
