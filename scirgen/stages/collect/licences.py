"""Licences as short lower-case names ("cc-by-4.0"), read from names, URLs and phrases; unrecognised licences stay
unchanged."""

from __future__ import annotations

import re
from collections.abc import Iterable

UNKNOWN = "unknown"

_URL = re.compile(r"creativecommons\.org/(?:licenses/([a-z-]+)/(\d\.\d)|publicdomain/(zero|mark)/(\d\.\d))", re.I)
_CC = re.compile(r"\bcc[\s_-]*(by(?:[\s_-]*(?:nc|sa|nd))*)\b[\s_/-]*v?(\d\.\d)?", re.I)
_GOVDATA = re.compile(
    r"\bdl-(?:de[-/])?(by|zero)(?:-de)?[-/ ]+(\d[.-]\d)|datenlizenz deutschland\W+(namensnennung|zero)\D*(\d\.\d)", re.I
)
_CC0 = re.compile(r"\bcc[\s_-]*(?:0|zero)\b", re.I)
_WORDS = (("noncommercial", "nc"), ("sharealike", "sa"), ("noderiv", "nd"))
_NAMED = (
    (re.compile(r"public\s*domain", re.I), "public-domain"),
    (re.compile(r"\bapache[\s-]*(?:licen[cs]e)?[\s,-]*(?:version)?\s*2", re.I), "apache-2.0"),
    (re.compile(r"^\s*(?:the\s+)?mit(?:\s+licen[cs]e)?\s*$", re.I), "mit"),
    (re.compile(r"\bodbl\b|open database licen[cs]e", re.I), "odbl-1.0"),
    (re.compile(r"\bpddl\b", re.I), "pddl-1.0"),
    (re.compile(r"\bodc[\s-]*by\b", re.I), "odc-by-1.0"),
    (re.compile(r"\bogl\b|open government licen[cs]e", re.I), "ogl"),
)


def normalise_licence(stated: str | None) -> str:
    """The short name of a licence: ``cc-by-4.0``, ``cc0-1.0``, ``mit``...; ``unknown`` if no licence is stated.

    A licence that is not recognised is kept, in lower case and with at most 200 characters, so that the card can show
    it.
    """
    text = " ".join((stated or "").split())
    if not text or text.lower() in {"unknown", "none", "null", "n/a", "notspecified", "other"}:
        return UNKNOWN
    if found := _URL.search(text):
        kind, version, mark, mark_version = found.groups()
        if kind:
            return f"cc-{kind.lower()}-{version}"
        return f"cc0-{mark_version}" if mark.lower() == "zero" else "public-domain"
    if found := _GOVDATA.search(text):
        kind, version = (found.group(1) or found.group(3)).lower(), (found.group(2) or found.group(4)).replace("-", ".")
        return f"dl-de-{'zero' if kind == 'zero' else 'by'}-{version}"
    if _CC0.search(text):
        return "cc0-1.0"
    if found := _CC.search(text):
        parts = [p for p in re.split(r"[\s_-]+", found.group(1).lower()) if p]
        return "-".join(["cc", *parts, *([found.group(2)] if found.group(2) else [])])
    squeezed = re.sub(r"[\s-]+", "", text.lower())
    if ("creativecommons" in squeezed and "attribution" in squeezed) or squeezed.startswith("attribution"):
        parts = ["cc", "by", *(short for word, short in _WORDS if word in squeezed)]
        version = re.search(r"\d\.\d", text)
        return "-".join([*parts, *([version.group()] if version else [])])
    for pattern, name in _NAMED:
        if pattern.search(text):
            return name
    return text.lower()[:200]


def licence_allowed(licence: str, wanted: Iterable[str]) -> bool:
    """Tells a licence that is among the wanted ones.

    A wanted name without a version includes all versions (``cc-by`` includes ``cc-by-4.0``, but not ``cc-by-nc-4.0``).
    ``unknown`` must be wanted by that name.
    """
    name = re.sub(r"-\d+(\.\d+)*$", "", normalise_licence(licence))
    full = normalise_licence(licence)
    return any(full == w or name == w for w in (normalise_licence(x) for x in wanted)) or (
        full == UNKNOWN and UNKNOWN in {w.strip().lower() for w in wanted}
    )
