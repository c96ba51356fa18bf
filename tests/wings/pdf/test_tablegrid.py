"""Rows and columns of a page's table from words and rules alone."""

from __future__ import annotations

from scirgen.core.records import Box
from scirgen_pdf.reading.page import Word
from scirgen_pdf.tablegrid import PageTable, page_table

CAPTION = (50.0, 80.0, 300.0, 90.0)
RULES: list[Box] = [(50, y, 350, y + 0.5) for y in (95, 135, 200)]


def words(*placed: tuple[float, float, str]) -> list[Word]:
    """Words of 10-point type, 5 points a letter, each text from its left end and top."""
    found = []
    for x, y, text in placed:
        for word in text.split():
            found.append(Word(word, (x, y, x + 5 * len(word), y + 10)))
            x += 5 * len(word) + 2.5
    return found


HEAD = [(150, 100, "Snow depth"), (50, 115, "Station"), (150, 115, "Mean"), (200, 115, "Max"), (300, 115, "Days")]
SPAN: Box = (145, 112, 225, 112.5)


def rows(table: PageTable | None) -> list[list[tuple[str, int, int]]]:
    assert table is not None and not table.refused, table
    return [[(c.text, c.rows, c.columns) for c in row] for row in table.rows]


def test_header_over_several_columns_and_cells_beside_two_lines() -> None:
    body = [(150, 140, "2.3"), (200, 140, "3.1"), (300, 140, "87"), (50, 146, "Upper"), (150, 152, "2.4"),
            (200, 152, "3.2"), (300, 152, "90"), (50, 175, "Lower"), (150, 175, "0.6"), (200, 175, "1.0"),
            (300, 175, "12")]  # fmt: skip
    found = page_table(CAPTION, [], words(*HEAD, *body), [*RULES, SPAN], 4)
    assert rows(found) == [
        [("", 1, 1), ("Snow depth", 1, 2)],
        [("Station", 1, 1), ("Mean", 1, 1), ("Max", 1, 1), ("Days", 1, 1)],
        [("Upper", 2, 1), ("2.3", 1, 1), ("3.1", 1, 1), ("87", 1, 1)],
        [("2.4", 1, 1), ("3.2", 1, 1), ("90", 1, 1)],
        [("Lower", 1, 1), ("0.6", 1, 1), ("1.0", 1, 1), ("12", 1, 1)],
    ]
    assert found and found.header_rows == 2 and found.rows[2][1].box == (150, 140, 165, 150)


def test_text_over_the_middle_of_the_values_heads_the_rows_below() -> None:
    body = [(225, 140, "Deep"), *((x, y, t) for y in (155, 170) for x, t in ((60, "Lake"), (170, "1"), (295, "2")))]
    body += [(210, 185, "Shallow"), (60, 200, "Pond"), (170, 200, "3"), (295, 200, "4")]
    rules: list[Box] = [(50, y, 350, y + 0.5) for y in (95, 135, 215)]
    found = rows(page_table(CAPTION, [], words((165, 115, "Mean"), (290, 115, "Max"), *body), rules, 1))
    assert [row[0][0] for row in found] == ["", "Deep", "Lake", "Lake", "Shallow", "Pond"]


def test_label_of_two_lines_is_one_cell() -> None:
    body = [(50, 140, "Upper and"), (50, 152, "middle"), (150, 140, "2.3"), (200, 140, "3.1"), (300, 140, "87"),
            (50, 175, "Lower"), (150, 175, "0.6"), (200, 175, "1.0"), (300, 175, "12")]  # fmt: skip
    found = rows(page_table(CAPTION, [], words(*HEAD, *body), [*RULES, SPAN], 1))
    assert found[2][0] == ("Upper and middle", 1, 1)


def test_table_whose_columns_are_not_clear_is_refused() -> None:
    body = [(50, 140, "Upper"), (150, 140, "2.3 4.1 3.1"), (300, 140, "87"), (50, 160, "Lower"),
            (150, 160, "0.6 7.2 1.0"), (300, 160, "12")]  # fmt: skip
    table = page_table(CAPTION, [], words(*HEAD[1:], *body), RULES, 1)
    assert table and table.refused == "table_columns"


def test_table_ends_at_other_text_and_needs_two_rules() -> None:
    prose: Box = (50, 140, 350, 190)
    assert page_table(CAPTION, [prose], words(*HEAD), RULES[:1], 1) is None
    table = page_table(CAPTION, [prose], words(*HEAD, (50, 140, "It snows")), RULES, 1)
    assert table and table.refused


def test_lines_closer_than_rows_belong_to_one_row_also_if_they_begin_with_a_number() -> None:
    body = [(50, 138, "1. wood"), (150, 138, "4"), (200, 138, "he shall be fined"), (200, 147, "3 forints for"),
            (200, 156, "each tree"), (50, 170, "2. hay"), (150, 170, "7"), (200, 170, "when one"),
            (200, 179, "grazes hay"), (50, 188, "3. water"), (150, 188, "2")]  # fmt: skip
    head = [(50, 115, "Demand"), (150, 115, "Laws"), (200, 115, "Quotation")]
    apart = [(x, y + (7 if text in ("3. water", "2") else 0), text) for x, y, text in body]
    rules = [*RULES[:2], (50, 210, 350, 210.5)]
    found = rows(page_table(CAPTION, [], words(*head, *apart), rules, 1))
    assert [row[2][0] for row in found[1:]] == ["he shall be fined 3 forints for each tree", "when one grazes hay", ""]


def test_close_lines_with_values_of_their_own_are_rows_of_a_group() -> None:
    head = [(50, 115, "Lake"), (150, 115, "Depth"), (200, 115, "Days")]
    body = [(x, y, text) for y in (138, 147, 156, 170, 179) for x, text in ((50, "of snow"), (150, "4"), (200, "7"))]
    assert len(rows(page_table(CAPTION, [], words(*head, *body), RULES, 1))) == 6


def test_upright_rules_part_columns_that_stand_close() -> None:
    body = [(50, 140 + 20 * n, name) for n, name in enumerate(("One", "Two", "Six"))]
    values = [(68, 140 + 20 * n, "alpha") for n in range(3)] + [(150, 140 + 20 * n, "4") for n in range(3)]
    head = [(50, 115, "No"), (68, 115, "Name"), (150, 115, "Mean")]
    uprights: list[Box] = [(66, 95, 66.4, 200)]
    found = page_table(CAPTION, [], words(*head, *body, *values), [*RULES, *uprights], 4)
    assert [c[0] for c in rows(found)[1]] == ["One", "alpha", "4"]


def test_texts_without_label_that_had_no_room_above_join_them_if_none_had_room() -> None:
    head = [(50, 115, "Site"), (150, 115, "Animals"), (300, 115, "Days")]
    body = [(50, 140, "Upper"), (150, 140, "Conus atlanticus Linnaeus"), (300, 140, "5"), (150, 155, "Gabb variety"),
            (50, 170, "Lower"), (150, 170, "Conus cashi"), (300, 170, "7")]  # fmt: skip
    found = page_table(CAPTION, [], words(*head, *body), RULES, 4)
    assert [row[1][0] for row in rows(found)[1:]] == ["Conus atlanticus Linnaeus Gabb variety", "Conus cashi"]
    closer = [(x, 140 + (y - 140) / 1.5, text) for x, y, text in (*body, (150, 185, "Conus"))]
    found = page_table(CAPTION, [], words(*head, *closer), RULES, 4)
    assert found is not None and found.refused == "table_columns"


def test_rules_around_cells_tell_what_each_covers() -> None:
    xs, ys = (50, 145, 195, 245, 350), (95, 112, 130, 160, 180)
    level = [(xs[1] if y == 112 else 50, y, 350, y + 0.5) for y in ys]
    upright = [(x, 112 if x in (195, 245) else 95, x + 0.5, 180) for x in xs]
    texts = [(52, 102, "Station"), (200, 98, "Snow depth"), (160, 115, "2019"), (210, 115, "2020"), (260, 115, "Days"),
             (52, 132, "Upper"), (160, 132, "2.3"), (210, 132, "11-"), (260, 132, "87"), (212, 145, "base"),
             (52, 165, "Lower"), (160, 165, "0.6"), (210, 165, "4"), (260, 165, "12")]  # fmt: skip
    found = page_table(CAPTION, [], words(*texts), [*level, *upright], 1)
    assert found and found.header_rows == 2
    assert rows(found) == [
        [("Station", 2, 1), ("Snow depth", 1, 3)],
        [("2019", 1, 1), ("2020", 1, 1), ("Days", 1, 1)],
        [("Upper", 1, 1), ("2.3", 1, 1), ("11- base", 1, 1), ("87", 1, 1)],
        [("Lower", 1, 1), ("0.6", 1, 1), ("4", 1, 1), ("12", 1, 1)],
    ]


def test_names_above_the_same_names_cover_as_many_columns() -> None:
    names = [(150, 100, "Men"), (252, 100, "Women"), (50, 115, "Age")]
    head = [(x, 115, text) for x, text in ((150, "n"), (200, "Mean"), (250, "n"), (300, "Mean"))]
    body = [(x, y, "4") for x in (50, 150, 200, 250, 300) for y in (140, 155, 170)]
    found = rows(page_table(CAPTION, [], words(*names, *head, *body), RULES, 1))
    assert found[0] == [("", 1, 1), ("Men", 1, 2), ("Women", 1, 2)]


def test_blank_between_words_parts_columns_that_have_names() -> None:
    head = [(50, 115, "Term"), (150, 115, "df"), (168, 115, "F")]
    body = [(x, y, text) for y in (140, 155, 170) for x, text in ((50, "Farm"), (150, "12"), (163, "7.5"))]
    found = rows(page_table(CAPTION, [], words(*head, *body), RULES, 1))
    assert found[1] == [("Farm", 1, 1), ("12", 1, 1), ("7.5", 1, 1)]


def test_lines_below_full_labels_alone_are_their_rest() -> None:
    head = [(50, 115, "Measure"), (150, 115, "Mean")]
    body = [(50, 138, "Grey matter"), (150, 138, "4"), (50, 149, "Volume"), (50, 160, "White matter"), (150, 160, "7"),
            (50, 171, "Volume"), (50, 182, "Cortex"), (150, 182, "9")]  # fmt: skip
    found = rows(page_table(CAPTION, [], words(*head, *body), RULES, 1))
    assert [row[0][0] for row in found[1:]] == ["Grey matter Volume", "White matter Volume", "Cortex"]


def test_labels_alone_head_groups_where_the_label_below_them_is_in_small_letters_or_a_wider_step_is_above() -> None:
    head = [(50, 115, "Treatment"), (150, 115, "n")]
    body = [(50, 138, "Strain of five"), (150, 138, "4"), (50, 149, "Growth on agar"), (50, 160, "at 25 min"),
            (150, 160, "7"), (50, 171, "with salt"), (150, 171, "9")]  # fmt: skip
    found = rows(page_table(CAPTION, [], words(*head, *body), RULES, 1))
    assert [row[0][0] for row in found[1:]] == ["Strain of five", "Growth on agar", "at 25 min", "with salt"]
    wide = [(50, 138, "Mean age at the"), (150, 138, "4"), (50, 147, "first visit"), (50, 156, "Diabetes mellitus"),
            (150, 156, "7"), (50, 174, "Menopausal status"), (50, 183, "Before"), (150, 183, "9")]  # fmt: skip
    found = rows(page_table(CAPTION, [], words(*head, *wide), RULES, 1))
    assert [row[0][0] for row in found[1:]] == [
        "Mean age at the first visit", "Diabetes mellitus", "Menopausal status", "Before",
    ]  # fmt: skip


def test_names_that_may_stand_over_more_columns_are_refused() -> None:
    low = [(50, 115, "Strain"), (130, 115, "Best"), (230, 115, "Last"), (325, 115, "Worst")]
    body = [(x, y, "4.12") for y in (140, 155) for x in (50, 130, 230, 330)]
    body += [(x, 170, "14.12") for x in (50, 125, 225, 325)]
    table = page_table(CAPTION, [], words((310, 100, "Activity"), *low, *body), RULES, 1)
    assert table and table.refused == "table_columns"


def test_values_below_values_without_labels_are_refused_if_scattered() -> None:
    head = [(x, 115, text) for x, text in ((50, "Stage"), (150, "A"), (200, "B"), (250, "C"), (300, "D"))]
    body = [(50, 140, "One"), (150, 140, "22 45%"), (200, 140, "1148"), (250, 140, "22 45%"), (300, 140, "1148"),
            (200, 152, "100%"), (300, 152, "100%"), (50, 164, "Two"), (150, 164, "12 25%"), (200, 164, "17"),
            (250, 164, "12 25%"), (300, 164, "16")]  # fmt: skip
    table = page_table(CAPTION, [], words(*head, *body), RULES, 1)
    assert table and table.refused == "table_columns"


def test_rules_around_groups_of_rows_do_not_frame_cells() -> None:
    ys = (95, 112, 145, 178)
    level = [(50.0, y, 350.0, y + 0.5) for y in ys]
    texts = [(52, 100, "Model"), (160, 100, "n"), (210, 100, "Error")]
    texts += [(x, y, text) for y in (115, 130, 148, 163) for x, text in ((52, "Pure"), (160, "10"), (210, "6.15"))]
    bars = [(60, y, 75, y + 0.5) for y in (128, 161)]  # of fractions
    for more in ([], [*bars, (195, 95, 195.5, 178)]):
        found = rows(page_table(CAPTION, [], words(*texts), [*level, (145, 95, 145.5, 178), *more], 1))
        assert [len(row) for row in found] == [3] * 5


def test_a_text_that_touches_a_rule_is_not_prose_above_a_table() -> None:
    body = [(x, y, f"{text}{y}") for y in (155, 170, 185) for x, text in ((50, "Farm"), (150, ""))]
    head = [(50, 138, "Function"), (150, 138, "Value")]
    for bottom, read in ((134.0, 0), (124.0, 4)):
        rules: list[Box] = [(50, y, 350, y + 0.5) for y in (55, 135, 150, 200)]
        above = [(50.0, 60.0, 350.0, bottom)]
        table = page_table((50.0, 205.0, 300.0, 215.0), above, words(*head, *body), rules, 1)
        assert len(table.rows if table else ()) == read


def test_a_long_cell_between_upright_rules_ends_no_table() -> None:
    xs, ys = (50, 145, 350), (95, 112, 140, 170)
    level = [(50.0, y, 350.0, y + 0.5) for y in ys]
    upright = [(x, 95.0, x + 0.5, 170.0) for x in xs]
    texts = [(52, 100, "Function"), (150, 100, "Value"), (52, 115, "print()"), (150, 115, "all coefficients"),
             (150, 127, "by default"), (52, 143, "coef()"), (150, 143, "none")]  # fmt: skip
    found = page_table(CAPTION, [(150, 115, 340, 137)], words(*texts), [*level, *upright], 1)
    assert [row[0][0] for row in rows(found)] == ["Function", "print()", "coef()"]


def test_one_rule_below_a_header_marks_a_table_above_or_below_its_caption() -> None:
    texts = [(50, 122, "Rooms"), (150, 122, "Mean")]
    texts += [(x, y, f"{y}") for y in (138, 150, 162) for x in (50, 150)]
    for caption in ((50.0, 90.0, 300.0, 100.0), (50.0, 180.0, 300.0, 190.0)):
        found = rows(page_table(caption, [], words(*texts, (40, 40, "An end of prose")), [(50, 135, 350, 135.5)], 1))
        assert [row[0][0] for row in found] == ["Rooms", "138", "150", "162"]


def test_upright_rules_in_a_header_tell_which_columns_a_text_names() -> None:
    head = [(50, 100, "Lake"), (112, 100, "Ice"), (150, 100, "Snow depth"), (50, 115, "-"), (112, 115, "Days"),
            (150, 115, "Mean"), (230, 115, "Max")]  # fmt: skip
    body = [(x, y, f"{y}") for y in (140, 155, 170) for x in (50, 112, 150, 230)]
    uprights: list[Box] = [(x, 95, x + 0.4, 200) for x in (105, 145)]
    found = rows(page_table(CAPTION, [], words(*head, *body), [*RULES, *uprights], 1))
    assert found[0] == [("Lake", 1, 1), ("Ice", 1, 1), ("Snow depth", 1, 2)]


def test_labels_in_the_middle_of_their_rows_are_those_of_all_of_them() -> None:
    head = [(50, 115, "Lake"), (150, 115, "Month"), (250, 115, "Depth")]
    body = [(x, 138 + 10 * n, f"{n + 1} m") for n in range(6) for x in (150, 250)]
    table = page_table(CAPTION, [], words(*head, *body, (50, 148, "Upper"), (50, 178, "Lower")), RULES, 1)
    assert [row[0] for row in rows(table)[1:] if len(row) == 3] == [("Upper", 3, 1), ("Lower", 3, 1)]


def test_a_rule_below_each_line_of_a_header_does_not_end_it() -> None:
    head = [(180, 100, "Snow depth"), (50, 115, "Station"), (150, 115, "Mean"), (250, 115, "Max")]
    body = [(x, y, f"{y}") for y in (140, 155, 170) for x in (50, 150, 250)]
    found = page_table(CAPTION, [], words(*head, *body), [*RULES, (50, 112, 350, 112.5)], 1)
    assert found and found.header_rows == 2 and len(rows(found)) == 5


def test_lists_of_small_letters_are_no_texts_of_several_lines() -> None:
    head = [(50, 115, "Spatial"), (150, 115, "Temporal")]
    names = ["constant", "gaussian", "powerlaw", "step", "student"]
    body = [(50, 140 + 11 * n, name) for n, name in enumerate(names)] + [(150, 140, "constant"), (150, 151, "step")]
    found = rows(page_table(CAPTION, [], words(*head, *body), RULES, 1))
    assert [row[0][0] for row in found[1:]] == names


def test_deviations_in_brackets_belong_to_the_values_above_them() -> None:
    body = [(50, 140, "Upper"), (150, 140, "2.3"), (200, 140, "3.1"), (300, 140, "87"), (150, 151, "(0.2)"),
            (200, 151, "—"), (300, 151, "(1)"), (50, 165, "Lower"), (150, 165, "0.6"), (200, 165, "1.0"),
            (300, 165, "12")]  # fmt: skip
    found = rows(page_table(CAPTION, [], words(*HEAD[1:], *body), RULES, 1))
    assert [cell[0] for cell in found[1]] == ["Upper", "2.3 (0.2)", "3.1 —", "87 (1)"]


def test_deviations_as_far_below_as_rows_are_rows_under_the_same_label() -> None:
    body = [(50, 140, "Upper"), (150, 140, "2.3"), (200, 140, "3.1"), (300, 140, "87"), (150, 152, "(0.2)"),
            (300, 152, "(1)"), (50, 164, "Lower"), (150, 164, "0.6"), (200, 164, "1.0"), (300, 164, "12")]  # fmt: skip
    found = rows(page_table(CAPTION, [], words(*HEAD[1:], *body), RULES, 1))
    assert found[1][0] == ("Upper", 2, 1) and [cell[0] for cell in found[2]] == ["(0.2)", "", "(1)"]


def test_label_anywhere_between_two_rules_is_that_of_all_rows_between_them() -> None:
    head = [(50, 115, "Lake"), (150, 115, "Month"), (250, 115, "Depth")]
    body = [(x, 138 + 10 * n, f"{n + 1} m") for n in range(6) for x in (150, 250)]
    rules: list[Box] = [*RULES, (50, 177.5, 350, 178)]
    table = page_table(CAPTION, [], words(*head, *body, (50, 163, "Upper"), (50, 184, "Lower")), rules, 1)
    assert [row[0] for row in rows(table)[1:] if len(row) == 3] == [("Upper", 4, 1), ("Lower", 2, 1)]


def test_short_rules_end_a_header_if_the_first_long_rule_is_below_values() -> None:
    body = [(x, y, f"{y}") for y in (140, 152, 170, 182) for x in (50, 150, 200, 300)]
    short: list[Box] = [(145, 130, 225, 130.5), (295, 130, 320, 130.5)]
    table = page_table(CAPTION, [], words(*HEAD, *body), [RULES[0], *short, (50, 165, 350, 165.5), RULES[2]], 1)
    assert table and table.header_rows == 2 and len(rows(table)) == 6


def test_box_of_two_lines_does_not_merge_them() -> None:
    body = [(50, 140, "Upper"), (150, 140, "2.3"), (200, 140, "3.1"), (50, 150, "Lower"), (150, 150, "0.6"),
            (200, 150, "1.0"), (50, 160, "Middle"), (150, 160, "0.7"), (200, 160, "1.2")]  # fmt: skip
    tall = Word("−1", (145, 140, 150, 157))
    found = rows(page_table(CAPTION, [], [*words(*HEAD[1:4], *body), tall], RULES, 1))
    assert [row[0][0] for row in found[1:]] == ["Upper", "Lower", "Middle"]


def test_word_with_a_raised_sign_stands_in_the_line_at_its_bottom() -> None:
    body = [(50, 140, "Upper"), (150, 140, "2.3"), (200, 140, "see"), (50, 160, "Lower"), (150, 160, "0.6")]
    raised = Word("notea", (217.5, 135, 240, 150))
    found = rows(page_table(CAPTION, [], [*words(*HEAD[1:4], *body), raised], RULES, 1))
    assert [row[2][0] for row in found[1:]] == ["see notea", ""]


def test_narrow_blank_parts_columns_if_texts_and_names_end_and_begin_at_it() -> None:
    head = [(50, 115, "Bone"), (154, 115, "Measure"), (194, 115, "Remarks")]
    body = [(50, 140, "Arm"), (170, 140, "24.7"), (194, 140, "longest"), (50, 155, "Leg"), (170, 155, "46.7"),
            (194, 155, "in a line"), (50, 170, "Skull"), (170, 170, "52.0"), (194, 170, "with teeth")]  # fmt: skip
    found = rows(page_table(CAPTION, [], words(*head, *body), RULES, 1))
    assert [row[1][0] for row in found] == ["Measure", "24.7", "46.7", "52.0"]


def test_words_of_a_justified_name_that_goes_on_below_are_one_name() -> None:
    head = [(50, 103, "Lake"), (150, 103, "Mean"), (182, 103, "devi-"), (150, 115, "ation"), (250, 103, "Max")]
    body = [(x, y, text) for y in (140, 155, 170) for x, text in ((50, "Upper"), (150, "9.1"), (250, "5.2"))]
    found = rows(page_table(CAPTION, [], words(*head, *body), RULES, 1))
    assert [cell[0] for cell in found[0]] == ["Lake", "Mean deviation", "Max"]


def test_names_above_two_names_are_parted_at_no_blank() -> None:
    head = [(150, 100, "No."), (169.5, 100, "positive"), (50, 115, "Month"), (150, 115, "IgM"), (200, 115, "IgG")]
    body = [(x, y, text) for y in (140, 155, 170) for x, text in ((50, "June"), (150, "9"), (200, "15"))]
    found = rows(page_table(CAPTION, [], words(*head, *body), RULES, 1))
    assert found[0] == [("", 1, 1), ("No. positive", 1, 2)]


def test_names_no_farther_apart_than_words_are_parted_where_their_columns_begin() -> None:
    head = [
        (50, 115, "Job"),
        (150, 115, "Performance"),
        (208, 115, "Speed"),
        (236, 115, "Human"),
        (263.5, 115, "expert"),
    ]
    body = [(x, y, text) for y in (140, 155, 170) for x, text in ((50, "Run"), (150, "9%"), (208, "5x"), (236, "1x"))]
    found = rows(page_table(CAPTION, [], words(*head, *body), RULES, 1))
    assert [cell[0] for cell in found[0]] == ["Job", "Performance", "Speed", "Human expert"]


def test_blank_as_between_words_parts_columns_below_a_name_that_begins_at_it() -> None:
    head = [(50, 115, "Set"), (150, 115, "Loss"), (183, 115, "Mean"), (205.5, 115, "area")]
    body = [(50, 140, "One"), (150, 140, "Square"), (183, 140, "77"), (50, 155, "Two"), (150, 155, "Log"),
            (183, 155, "9"), (50, 170, "Ten"), (150, 170, "Root"), (183, 170, "612")]  # fmt: skip
    found = rows(page_table(CAPTION, [], words(*head, *body), RULES, 1))
    assert [[cell[0] for cell in row[1:]] for row in found[:2]] == [["Loss", "Mean area"], ["Square", "77"]]


def test_name_at_the_right_end_of_several_columns_may_be_that_of_all() -> None:
    head = [(50, 100, "Station"), (265, 100, "Days by case"), *((150 + 40 * n, 115, f"C{n}") for n in range(5))]
    body = [
        (x, y, text) for y in (140, 155, 170) for x, text in ((50, f"At{y}"), *((150 + 40 * n, "12") for n in range(5)))
    ]
    table = page_table(CAPTION, [], words(*head, *body), RULES, 1)
    assert table and table.refused == "table_columns"


def test_lines_with_all_texts_are_rows_also_between_rules() -> None:
    head = [(50, 115, "Card"), (150, 115, "Format"), (220, 115, "Text")]
    cells = [(50, "I-1"), (150, "a6")]
    body = [(x, y, text) for y in (140, 152, 170, 182) for x, text in cells]
    body += [(220, y, text) for y, text in ((140, "atoms"), (152, "name of it"), (170, "date"), (182, "time of it"))]
    parted: Box = (50, 166, 350, 166.5)
    found = rows(page_table(CAPTION, [], words(*head, *body), [*RULES, parted], 1))
    assert [row[1][0] for row in found] == ["Format", "a6", "a6", "a6", "a6"]


def test_shares_below_counts_belong_to_their_row() -> None:
    head = [(50, 115, "Stage"), (150, 115, "Men"), (220, 115, "Women")]
    body = [(x, y + 12 * low, text[low]) for y in (138, 162) for low in (0, 1) for x, text in
            ((50, ("Early", "")), (150, ("24", "40%")), (220, ("36", "60%"))) if text[low]]  # fmt: skip
    found = rows(page_table(CAPTION, [], words(*head, *body), RULES, 1))
    assert [[cell[0] for cell in row] for row in found[1:]] == [["Early", "24 40%", "36 60%"]] * 2


def test_text_alone_that_is_no_label_refuses_the_table_but_in_a_row_without_upright_rules_it_heads_a_group() -> None:
    head = [(50, 115, "Name"), (150, 115, "Default")]
    body = [(50, 140, "shape"), (150, 140, "any"), (50, 180, "label"), (150, 180, "any of a list of texts")]
    alone = [(152, 160, "Edge marks and rest")]
    table = page_table(CAPTION, [], words(*head, *body, *alone), RULES, 1)
    assert table and table.refused == "table_columns"
    walls: list[Box] = [(145, y, 145.5, y + 18) for y in (96, 114, 137, 177)]
    found = rows(page_table(CAPTION, [], words(*head, *body, *alone), [*RULES, *walls], 1))
    assert found[2][0][0] == "Edge marks and rest"


def test_texts_of_two_cells_that_touch_refuse_the_table() -> None:
    texts = [(52, 100, "Package"), (150, 100, "Share"), (52, 120, "xdg-desktop-portal-gtk"), (150, 140, "4"),
             (52, 140, "snap"), (52, 160, "flat"), (150, 160, "7")]  # fmt: skip
    rules = [(x, 95, x + 0.5, 180) for x in (50, 145, 349)] + [(50, y, 350, y + 0.5) for y in (95, 115, 135, 155, 180)]
    table = page_table(CAPTION, [], words(*texts), rules, 1)
    assert table and table.refused == "table_columns"


def test_long_cell_between_rules_of_rows_ends_no_table() -> None:
    level: list[Box] = [(50, y, 350, y + 0.5) for y in (95, 112, 129, 146, 163, 192)]
    head = [(52, 98, "Function"), (150, 98, "Description")]
    body = [(x, y, text) for y in (115, 132, 149, 166) for x, text in ((52, "lsode"), (150, "solves equations"))]
    prose: Box = (52, 166, 330, 189)
    found = page_table(CAPTION, [prose], words(*head, *body, (150, 178, "of all kinds")), level, 1)
    assert len(rows(found)) == 5


def test_name_above_the_middle_of_three_columns_stands_over_them() -> None:
    head = [(198, 100, "Intensity"), (150, 115, "Light"), (205, 115, "Medium"), (265, 115, "Heavy")]
    body = [(x, y, "4.1") for x in (50, 155, 212, 270) for y in (140, 155, 170)]
    found = rows(page_table(CAPTION, [], words(*head, *body), RULES, 1))
    assert found[0] == [("", 1, 1), ("Intensity", 1, 3)]


def test_caption_right_below_a_table_is_its_own_if_the_next_rule_is_far() -> None:
    head = [(50, 115, "Station"), (150, 115, "Mean")]
    body = [(x, y, text) for y in (140, 155, 170) for x, text in ((50, "Upper"), (150, "4"))]
    below = [(x, y + 150, text) for x, y, text in (*head, *body)]
    rules = [*RULES, *((x0, y0 + 150, x1, y1 + 150) for x0, y0, x1, y1 in RULES)]
    found = page_table((50, 205, 300, 215), [], words(*head, *body, *below), rules, 1)
    assert found and found.box[1] == 95
