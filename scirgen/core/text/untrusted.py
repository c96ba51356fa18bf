"""Guards for text from outside (papers, catalogues, servers): puts it into prompts, and finds parts that address a
machine.

`fence` puts it between delimiters that it cannot forge, and breaks up what a tokenizer would read as control. Exact
quotation is the second guard, and sentences found by `talks_to_machine` are not even shown.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from datetime import date
from functools import cache
from typing import Any, cast

import re2

from scirgen.core.files.yamlfile import load_model
from scirgen.core.fingerprint import digest
from scirgen.core.records import Frozen
from scirgen.core.resources import builtin_root
from scirgen.core.text.sentences import sentence_spans
from scirgen.core.text.tame import whole_characters

FENCE_VERSION = 2
"""Part of every prompt's hash, so a changed fence gives a changed prompt."""

FENCE = re.compile(r"</?data-[0-9a-f]{6,64}>")
"""The delimiters that `fence` puts around data."""


class Untrusted(str):
    """A string from outside. A template that prints one without `fence` or `inert` is refused.

    Strings that are cut or joined from it are untrusted too.
    """

    __slots__ = ()


def _keeping(name: str) -> Callable[..., Any]:
    plain = getattr(str, name)

    def method(self: str, *args: Any, **options: Any) -> Any:
        return _marked(plain(self, *args, **options))

    method.__name__ = name
    return method


def _marked(value: object) -> object:
    if type(value) is str:
        return Untrusted(value)
    if type(value) in (list, tuple):
        return cast("type[list[object]]", type(value))(_marked(v) for v in cast("Iterable[object]", value))
    return value


_DUNDER = ("__add__", "__mod__", "__mul__", "__rmul__", "__getitem__", "__format__")
for _name in [n for n in dir(str) if not n.startswith("_")] + list(_DUNDER):
    if _name not in ("encode", "maketrans"):
        setattr(Untrusted, _name, _keeping(_name))
Untrusted.__radd__ = lambda self, left: Untrusted(str.__add__(left, self))  # type: ignore[attr-defined]
Untrusted.__iter__ = lambda self: map(Untrusted, str.__iter__(self))  # type: ignore[method-assign]


def fence(text: object) -> str:
    """Return the untrusted text between delimiters that it cannot forge, with control tokens broken up.

    The delimiter is 128 bits of a digest of the text, so prompts stay reproducible; if the text contains it, another
    one is derived.
    """
    body = inert(text)
    tag = f"data-{digest('fence', body)}"
    while tag in body:
        tag = f"data-{digest('fence', tag, body)}"
    return f"<{tag}>\n{body}\n</{tag}>"


def inert(text: object) -> str:
    """Return the untrusted text without delimiters, with its control tokens broken up, for text on its own line and for
    prompts that generate nothing."""
    body = str.__str__(text) if isinstance(text, str) else str(text)
    if "<" not in body and "[" not in body and "]~" not in body and "＜" not in body and not _of_model:
        return body
    body = whole_characters(body)
    while _control_tokens().search(body):  # a token may hide in another; each pass leaves fewer
        body = _control_tokens().sub(_broken, body)
    return body


def unfenced(text: str) -> str:
    """Return a reply without the delimiters of `fence`, which small models copy together with the text between them."""
    return FENCE.sub("", text).strip() or text


def talks_to_machine(text: str) -> bool:
    """Check whether a text contains orders to a model, ready-made replies, control tokens or template code."""
    text = whole_characters(text)
    if not text.isascii():  # full-width letters and invisible characters
        text = "".join(c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) != "Cf")
    return _control_tokens().search(text) is not None or _orders().search(text) is not None


def without_orders(text: str, language: str = "en") -> tuple[str, list[str]]:
    """Return a text without the sentences that address a language model.

    Returns:
        The remaining text, and the removed sentences. A text without such sentences comes back unchanged.
    """
    if not talks_to_machine(text):
        return text, []
    text = whole_characters(text)
    spans = sentence_spans(text, language)
    first = _control_tokens().search(text)
    # Text after a control token was written for a machine, whatever it says.
    rest = first.start() if first else len(text)
    found = [m.span() for pattern in (_control_tokens(), _orders()) for m in pattern.finditer(text)]
    hostile = [
        (start, end)
        for start, end in spans
        if end > rest or any(a < end and start < b for a, b in found) or talks_to_machine(text[start:end])
    ]
    if not hostile:  # text between the sentences, such as a table row or a separate line
        return "", [text]
    kept, at = [], 0
    for start, end in hostile:
        kept.append(text[at:start])
        at = end
        while at < len(text) and text[at].isspace() and (not "".join(kept[-1:]) or kept[-1][-1:].isspace()):
            at += 1
    return "".join([*kept, text[at:]]).strip(), [text[start:end] for start, end in hostile]


class _Patterns(Frozen):
    """``taxonomies/untrusted.yaml``. A domain cannot override it."""

    version: int
    control_tokens_read: date
    sources: tuple[str, ...]
    control_tokens: tuple[str, ...]
    orders: dict[str, tuple[str, ...]]


def _broken(match: Any) -> str:
    found: str = match.group()
    return f"{found[0]} {found[1:]}"


@cache
def _patterns() -> _Patterns:
    return load_model(builtin_root() / "taxonomies" / "untrusted.yaml", _Patterns, shipped=True)


_of_model: tuple[str, ...] = ()


def know_special_tokens(tokens: Iterable[str]) -> None:
    """Also break up these special tokens of the model from now on, instead of those of an earlier call."""
    global _of_model
    _of_model = tuple(tokens)
    _control_tokens.cache_clear()


@cache
def _control_tokens() -> Any:
    return _linear((*_patterns().control_tokens, *map(re2.escape, _of_model)))


@cache
def _orders() -> Any:
    return _linear([p for patterns in _patterns().orders.values() for p in patterns])


def _linear(patterns: Iterable[str]) -> Any:
    """Return one RE2 automaton for all patterns; its time is linear in the length of any text."""
    options = re2.Options()
    options.case_sensitive = False
    options.dot_nl = True
    options.max_mem = 64 << 20
    return re2.compile("|".join(f"(?:{p})" for p in patterns), options)
