"""Passwords in addresses: finds and removes them, however the address is spelled.

An address is read as a browser reads it, after HTML entities, escapes, tags and invisible signs are undone. What a
browser would not read (a blank, a quote or ``#`` inside a password) is removed too, if a host can be read after it.
`secrets` knows the keys of this process.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import chain, zip_longest
from typing import Final

_LONGEST: Final = 2_000
"""Most characters after ``://`` in which a user's name and password are looked for."""
_MAX_BLANKS, _WITH_BLANKS = 4, 200
"""Most blanks in a password, and most characters of one with blanks."""
_PASSES: Final = 3

# -- undoing -----------------------------------------------------------------------------------------------------------
_UNSEEN: Final = (
    "\x00-\x08\x0e-\x1f\x7f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff"
)
_UNREAD: Final = re.compile(rf"[{_UNSEEN}]")
_ESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t", "b": "", "f": "\f"}
_WIDE: Final = {"﹕": ":", "∶": ":", "﹫": "@", "⁄": "/", "∕": "/", "⧸": "/"}
_SPELLED: Final = (
    r"&(?:amp;)*(?:\#0*[0-9]{1,7}|\#[xX]0*[0-9a-fA-F]{1,6}|colon|sol|commat|bsol|num|quest|lowbar|equals|quot|apos);?"
    r"|[^\S\n](?:amp;)*(?:\#0*(?:47|58|64)|\#[xX]0*(?:2[fF]|3[aA]|40)|colon|sol|commat);"
    r"|\\+(?:u[0-9a-fA-F]{4}|u\{0*[0-7][0-9a-fA-F]\}|U0{6}[0-7][0-9a-fA-F]|x[0-7][0-9a-fA-F]|[nrtbf]|[\"'/@:\#_%&])"
    rf"|[{_UNSEEN}]+|[\uff01-\uff5e{''.join(_WIDE)}]"
)
_WRITTEN: Final = re.compile(_SPELLED)
_MARKED_UP: Final = re.compile(
    rf"{_SPELLED}|<!--.{{0,500}}?-->|</?[a-zA-Z][^<>]{{0,500}}>"
    r"|%(?:25)*(?:u00)?(?:2[fF]|3[aAdD]|4[0-9a-fA-F]|5[0-9aAcC]|6[1-9a-fA-F]|7[0-9aA])"
    r"|[^\S\n]?[\[({]\s?(?i:at)\s?[\])}][^\S\n]?",
    re.S,
)
_BLOCK: Final = re.compile(r"</?(?:br|p|div|li|[ou]l|d[ldt]|t[rdh]|table|h\d|hr|pre|section)\b", re.I)

_MARKS: Final = re.compile(r"[<%\[({]")
_SIGNS: Final = {
    "@": ("@",), "＠": ("＠",), "﹫": ("﹫",), "%": ("%40", "%25", "%u00"), "\\": ("u0040", "x40", "u{", "U000000"),
    "commat": ("commat",), "#": ("#64", "#x40", "#X40", "#0", "#x0", "#X0"),
    "(": ("(at", "( at", "(AT"), "[": ("[at", "[ at", "[AT"), "{": ("{at",),
}  # fmt: skip
"""A sign that a spelling of ``@`` needs -> those spellings, or how they begin."""
_STARTS: Final = {
    ":": ("://", ":\\", ":/\\", ":&", ":<"), "&": ("&colon",), "#": ("#58", "#x3a", "#x3A"), "%": ("%3A", "%3a"),
    "?": ("?",), "：": ("：",),
}  # fmt: skip
_BEFORE, _BEHIND, _SKIPPED = 600, 350, 100
_RUN_AND_NEXT: Final = re.compile(rf"(?P<run>\S{{0,{_LONGEST}}})(?:\s{{1,3}}\S{{1,300}})?")

# -- reading -----------------------------------------------------------------------------------------------------------
_QUOTE: Final = r"[\"'`](?![,:}\])\s])"
"""A quote, but not one that ends a text in JSON."""
_OPENS: Final = rf"(?:<|{_QUOTE}){{0,2}}"
_START: Final = re.compile(
    r"(?P<web>(?<![a-z0-9])(?:https?|ftps?|wss?)\s{0,2}:(?:\s{0,2}[/\\]+\s{0,2}|(?=[^\s/\\])))"
    + _OPENS
    + r"|:\s?/\s?/+\s{0,2}"
    + _OPENS
    + r"|(?<![:\w/\\])//(?=[^\s/@:]{1,200}:[^\s/@]{0,200}@)"
    r"|(?P<slash>(?<![/\w])oracle:(?:thin|oci8?):)"
    r"|(?P<bare>(?<![\w.@+:/-])(?!(?:mailto|e-?mail|mail|contact|sip|xmpp|acct):)(?=[\w.+%~-]{1,64}:[^\s/@<>\"]{1,200}@"
    r"(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}(?:/|:\d)))",
    re.I,
)
_BETWEEN: Final = re.compile(r"\n\s*\n")
_AUTHORITY: Final = re.compile(r"[^/\\?#\s<>\"]*")
_HOST: Final = re.compile(
    r"(?:(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}|localhost|\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.%]+\])(?::\d{0,5})?", re.I
)
_SIGN: Final = re.compile(r"@\s{0,2}(?=\[[0-9a-fA-F:.]+\]|[\w-]{1,63}[.:\w-])")
_SLASHED: Final = re.compile(r"[^\s/@]{1,100}/[^\s@]{1,200}@")
"""Oracle's form of a user name and a password."""
_RUN: Final = re.compile(r"(?:(?![\"'][,:}\])]|[\"']\s)\S)*")
_QUOTED: Final = re.compile(r"[^\s\"'@:]{1,100}[\"'`]?\s?:\s?[\"'`][^\s\"'@]{1,200}[\"'`]\s?@")
_SPACED: Final = re.compile(
    rf"(?:(?![\"'][,:}}\])]|[\"']\s|[.;!?]\s)[^@]){{1,{_WITH_BLANKS}}}@\s{{0,2}}"
    r"(?=(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}|[\w-]{1,63}(?::\d|/)|localhost|\d{1,3}(?:\.\d{1,3}){3}|\[)",
    re.I,
)
_BROKEN: Final = re.compile(r"[\w.~+=-]{8,200}\s{1,2}[\w.~+=-]{0,200}@\s?(?=(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24})")
"""A token that a line's end cuts in two."""
_ADDRESS: Final = re.compile(
    r"(?::[\\/]{2}|%3a(?:%2f){2}|\?)[^\s<>\"]+(?:(?<=[?&=])(?:\s|" + _QUOTE + r"){1,3}[^\s<>\"]+){0,3}", re.I
)
_CREDENTIALS: Final = (
    # parameters that hold nothing but a credential
    re.compile(
        r"(?<![a-z0-9])(?:api[_-]?key|(?:access|auth|refresh|id|private|session|bearer|oauth)[_-]?token|access[_-]?key"
        r"|(?:app|client|consumer|shared)[_-]?secret|private[_-]?key|passphrase|password|passwd|pwd|(?:j|php)sess(?:ion)?id"
        r"|x-(?:amz|goog)-(?:signature|credential|security-token)|subscription-key)"
        r"(?:=|%3d)(?:\s|" + _QUOTE + r"){0,3}(?P<value>[^&\s#;\"<>\\]+)",
        re.I,
    ),
    # names that also stand for something else, with a value that only a machine writes
    re.compile(
        r"(?<![a-z0-9_-])(?:auth|pass|pw|secret|sig|signature|token)(?:=|%3d)(?P<value>(?=[^&#]{0,60}\d)(?=[^&#]{0,60}[a-z])"
        r"[\w.~+/%=-]{12,})",
        re.I,
    ),
    # tokens of well-known services under any name; the forms are those of gitleaks.toml (commit 009e025)
    re.compile(
        r"(?P<value>(?<![A-Za-z0-9])(?:gh[opsur]_[A-Za-z0-9]{36}|github_pat_\w{60,}|gl[a-z]{2,6}-[\w-]{20,}"
        r"|sk-(?:ant|proj|or|svcacct)-[\w-]{20,}|sk-[A-Za-z0-9]{32,}|(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{10,}"
        r"|hf_[A-Za-z]{34}|xox[abeoprs]-[\w-]{20,}|AIza[\w-]{35}|(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}|npm_[A-Za-z0-9]{36}"
        r"|pypi-AgEI[\w-]{50,}|SG\.[\w.-]{60,}|do[opr]_v1_[a-f0-9]{64}|shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}"
        r"|dapi[a-f0-9]{32}|gsk_[A-Za-z0-9]{40,}|eyJ[\w-]{14,}\.[\w-]{10,}\.[\w-]{10,}))"
    ),
)


def without_passwords(text: str) -> str:
    """Return the text with its addresses without user names, passwords, signatures and tokens."""
    parts: list[str] = []
    at = 0
    for start, end in _windows(text):
        if (kept := _cleaned(text[start:end])) != text[start:end]:
            parts += text[at:start], kept
            at = end
    return "".join([*parts, text[at:]]) if parts else text


def _windows(text: str) -> Iterator[tuple[int, int]]:
    """Yield the parts of the text that may hold an address with a password: around each ``@``, from each address on."""
    spans: list[tuple[int, int]] = []
    for sign in chain.from_iterable(of for needed, of in _SIGNS.items() if needed in text):
        at = text.find(sign)
        while at >= 0:
            near = max(0, at - _BEFORE)
            spaced = len(text[near:at].split(None, 1)) > 1
            spans.append((near if spaced else max(0, at - _LONGEST), at + _BEHIND))
            at = text.find(sign, at + _SKIPPED)
    for start in chain.from_iterable(of for needed, of in _STARTS.items() if needed in text):
        at = text.find(start)
        while at >= 0:
            run = _RUN_AND_NEXT.match(text, at)
            assert run is not None
            spans.append(run.span())
            at = text.find(start, max(at + 1, run.end("run")))
    if not spans:
        return
    first, last = min(spans)
    for begin, end in sorted(spans):
        if begin > last:
            yield first, last
            first = begin
        last = max(last, end)
    yield first, last


def _cleaned(text: str) -> str:
    for _ in range(_PASSES):
        before = text
        for spelled in (_MARKED_UP, _WRITTEN) if _MARKS.search(text) else (_WRITTEN,):
            view = _View(text, spelled)
            text = view.cut(_credentials(view.text))
            view = _View(text, spelled) if text != view.given else view
            text = view.cut(_users(view.text))
        if text == before:
            break
    return text


def has_password(text: str) -> bool:
    """Check whether an address in the text has a part that `without_passwords` removes."""
    return without_passwords(text) != text


class _View:
    """A text as a reader sees it, and the places in the given text that its characters stand for."""

    def __init__(self, given: str, spelled: re.Pattern[str]) -> None:
        self.given = given
        parts: list[str] = []
        self._seen, self._written = [0], [0]  # after each undone spelling: where it ends in both texts
        at = length = 0
        for found in spelled.finditer(given):
            parts += given[at : found.start()], (sign := _undone(found.group()))
            length += found.start() - at + len(sign)
            at = found.end()
            self._seen.append(length)
            self._written.append(at)
        self.text = "".join([*parts, given[at:]]) if at else given

    def cut(self, spans: Iterator[tuple[int, int, str]]) -> str:
        """Return the given text with these spans of the seen text replaced."""
        parts: list[str] = []
        at = 0
        for start, end, instead in spans:
            parts += self.given[at : self._place(start)], instead
            at = self._place(end)
        return "".join([*parts, self.given[at:]]) if parts else self.given

    def _place(self, seen: int) -> int:
        """Return where the character before this one ends in the given text."""
        number = bisect_right(self._seen, seen) - 1
        return self._written[number] + seen - self._seen[number]


def _undone(spelled: str) -> str:
    first = spelled[0]
    if first == "&" or spelled[-1] == ";":
        return html.unescape("&" + spelled.replace("amp;", "")[1:].rstrip(";") + ";")
    if first == "\\":
        sign = spelled.lstrip("\\")
        first = chr(int(sign[1:].strip("{}"), 16)) if len(sign) > 1 else _ESCAPED.get(sign, sign)
        return _UNREAD.sub("", first)
    if first == "%":
        return chr(int(spelled[-2:], 16))
    if first in _WIDE:
        return _WIDE[first]
    if "\uff01" <= first <= "\uff5e":
        return chr(ord(first) - 0xFEE0)
    if first == "<":
        return "\n" if _BLOCK.match(spelled) else ""
    return "@" if first in "[({" or first.isspace() else ""


def _paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Yield the paragraphs, each with its place. No password goes on in the next one, since the places of citations in
    a paper count from its paragraphs as they were read."""
    at = 0
    for paragraph in _BETWEEN.split(text):
        at = text.index(paragraph, at)
        yield at, paragraph
        at += len(paragraph)


def _credentials(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the parameters and tokens in addresses, each with what stands for it."""
    for at, paragraph in _paragraphs(text):
        for address in _ADDRESS.finditer(paragraph):
            last = 0
            found = (m.span("value") for p in _CREDENTIALS for m in p.finditer(paragraph, *address.span()))
            for start, end in sorted(found):
                if start >= last and paragraph[start:end] != "...":
                    yield at + start, at + end, "..."
                last = max(last, end)


def _users(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the user names and passwords, each with the ``@`` behind it."""
    for at, paragraph in _paragraphs(text) if "@" in text else ():
        starts = list(_START.finditer(paragraph))
        for found, after in zip_longest(starts, starts[1:]):
            limit = min(after.start() if after else len(paragraph), found.end() + _LONGEST)
            rest = paragraph[found.end() : limit]
            slashed = _SLASHED.match(rest) if found["slash"] else None
            length = slashed.end() if slashed else _length_of_user(rest, bool(found["web"]))
            if length:
                yield at + found.end(), at + found.end() + length, ""


def _length_of_user(rest: str, web: bool) -> int:
    """Return the length of what stands between a scheme and its host, up to the ``@``; 0 if the host comes first."""
    if "@" not in rest:
        return 0
    head, run = _AUTHORITY.findall(rest)[0], _RUN.findall(rest)[0]
    signs = [m.end() for m in _SIGN.finditer(run)]
    if "@" in head:
        user, _, host = head.rpartition("@")
        return max(len(user) + 1, *signs) if ":" in user and signs and "." not in host else len(user) + 1
    if _HOST.fullmatch(head) or _HOST.fullmatch(head.rstrip(".,;:)]}*'_")):
        return 0
    if quoted := _QUOTED.match(rest):
        return quoted.end()
    if ":" in head or re.match(r"\s{1,2}:", rest[len(head) :]):
        if signs:
            return signs[-1]
        spaced = _SPACED.match(rest)
        return spaced.end() if spaced and len(spaced.group().split()) <= _MAX_BLANKS + 1 else 0
    if signs and web and (len(head) >= 8 or ":" in rest[: signs[-1]]):
        return signs[-1]
    broken = _BROKEN.match(rest)
    return broken.end() if broken and web and (len(head) >= 16 or re.search(r"\d", head)) else 0
