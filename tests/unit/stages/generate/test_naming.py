"""A dataset is called as people call it: not by a pasted title, a heading, or authors without a year."""

from __future__ import annotations

import pytest

from scirgen.stages.generate.naming import makers, whole_title


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Global Lake Ice Atlas", "Global Lake Ice Atlas"),
        ("Omniglot data set, 5-Shot Learning", ""),
        ("Lakes: ice and snow", ""),
        ("ABSTRACT", ""),
        ("Untitled.", ""),
        ("Daily snow depth of forty mountain huts", ""),
    ],
)
def test_a_short_title_is_a_name_unless_it_has_parts_or_is_a_heading(title: str, name: str) -> None:
    assert whole_title(title) == name


def test_makers_are_told_with_their_year_or_not_at_all() -> None:
    assert makers(("Ek", "Oy", "Uz", "Al"), 2020) == "Ek; Oy; Uz (2020)"
    assert makers(("Ek",), None) == makers((), 2020) == ""
