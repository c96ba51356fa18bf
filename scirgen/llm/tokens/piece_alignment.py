"""Finds the start of an answer among the tokens that a server reports, by their text, read from the end. Other modules
send the requests.

Servers' character offsets are not reliable for this: a begin-of-text token, a leading space that a tokenizer drops, and
characters of several tokens (shown as U+FFFD each, or as an empty piece) all shift them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

LOST: Final = "\ufffd"
"""The text of a piece that is part of a character."""

_LOST_RUN: Final = re.compile(f"{LOST}+")


def first_of_answer(pieces: Sequence[str], text: str, boundary: int) -> int | None:
    """Index of the first piece that reaches past ``boundary``; such a piece may begin before it.

    Args:
        pieces: the text of each token, to the text's end.
        text: what was encoded.
        boundary: number of characters before the answer.

    Returns:
        The index, or None if the pieces do not spell the text.
    """
    at, end = len(pieces), len(text)
    while end > boundary:
        if at == 0:
            return None
        if (start := _spelt(pieces[at - 1], text, end)) is not None:
            at -= 1
            if start < end:
                at -= _halves_before(pieces, at, text[start:end])
            end = start
        elif LOST in pieces[at - 1]:
            run = at - 1
            while run > 0 and LOST in pieces[run - 1]:
                run -= 1
            start = _start_of_run(pieces, run, at, text, end)
            if start is None and text[end - 1].isspace():
                end -= 1  # as below
                continue
            # It is unknown which of its tokens reaches past a boundary inside the run.
            if start is None or (start < boundary and run + 1 < at):
                return None
            at, end = run, start
        elif text[end - 1].isspace():
            end -= 1  # the piece read last owned this space, and its decoder dropped it
        else:
            return None
    return at


def _spelt(piece: str, text: str, end: int) -> int | None:
    """Where the piece begins if it ends at ``end``."""
    return end - len(piece) if text.endswith(piece, 0, end) and len(piece) <= end else None


def _halves_before(pieces: Sequence[str], at: int, spelt: str) -> int:
    """The number of empty pieces before ``at`` that start its first character, which was decoded as a whole there."""
    letter = spelt.lstrip()[:1]
    if not letter or letter.isascii():
        return 0
    count = 0
    while count < len(letter.encode()) - 1 and at - count > 0 and pieces[at - count - 1] == "":
        count += 1
    return count


def _start_of_run(pieces: Sequence[str], first: int, last: int, text: str, end: int) -> int | None:
    """Where a run of pieces with parts of characters begins: the shortest stretch after which the piece before it
    fits."""
    joined = "".join(pieces[first:last])
    pattern, at = "", 0
    for lost in _LOST_RUN.finditer(joined):
        pattern += re.escape(joined[at : lost.start()]) + f"[^\\x00-\\x7f]{{1,{len(lost.group())}}}"
        at = lost.end()
    fits = re.compile(pattern + re.escape(joined[at:]), re.S)
    for start in range(end - 1, max(-1, end - len(joined) - 1), -1):
        if not fits.fullmatch(text, start, end):
            continue
        if start == 0 or first == 0 or _spelt(pieces[first - 1], text, start) is not None or text[start - 1].isspace():
            return start
    return None
