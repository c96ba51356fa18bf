"""Finding DOIs in identifiers, file names and running text. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from urllib.parse import unquote

# A DOI of the nineties may hold a SICI: 10.1002/(SICI)1099-1255(199705)12:3<313::AID-JAE440>3.0.CO;2-G
_DOI = re.compile(r"10\.\d{4,9}/(?:[^\s\"'<>\\^`{|}]|<[^\s<>]{1,20}::[^\s<>]{1,30}>)+", re.I)
_IN_NAME = re.compile(r"10\.\d{4,9}[_/%-]\S+", re.I)
_PLACEHOLDER = re.compile(
    r"(?<![a-z])(?:x{3,}|n{3,}|y{3,}|z{3,}|#{3,}|\?{3,})(?![a-z])|^10\.0|^10\.\d+/(?:\D*0){4}[^1-9]*$", re.I
)
"""Signs of a template where a number will stand ("10.21105/joss.0XXXX", "v000.i00"); no registrant's number begins with
0. Repositories give names by chance, in which a 0 may be the one digit ("DVN/PV0DBG"), but seldom four."""
_TRAILING = ".,;:!?'\"]}>"
_TAIL = 120
_MAX_TAILS = 5_000  # a paper cites about a hundred DOIs


def find_doi(text: str | None) -> str | None:
    """Return the first DOI in a text, lower-cased, without a resolver or trailing punctuation; None without one."""
    return next(_dois(text or ""), None)


def find_dois(text: str) -> list[str]:
    """Return all DOIs in a text, each once, in order."""
    return list(dict.fromkeys(_dois(text)))


def _dois(text: str) -> Iterator[str]:
    found = (_trimmed(m.group()) for m in _DOI.finditer(text))
    return (doi for doi in found if not _PLACEHOLDER.search(doi))


def doi_in_file_name(stem: str) -> str | None:
    """Return the DOI a file is named after: ``10.1371_journal.pone.0349705``, ``10.1371%2Fjournal...``; None if its
    name holds no DOI."""
    found = _IN_NAME.search(unquote(stem))
    if not found:
        return None
    prefix, _, suffix = re.sub(r"^(10\.\d{4,9})[_/-]", r"\1/", found.group()).partition("/")
    return find_doi(f"{prefix}/{suffix}")


def doi_tails(text: str) -> list[str]:
    """Return the text after each ``10.NNNN/`` in running text, white space kept, so that a DOI that is broken over
    lines can be found."""
    found = islice(re.finditer(r"10\.\d{4,9}\s*/", text), _MAX_TAILS)
    return [text[m.start() : m.start() + _TAIL] for m in found]


def mentions_doi(tails: list[str], doi: str) -> bool:
    """Check whether one of the tails begins with the DOI. White space inside it is skipped; a longer DOI does not
    count."""
    return any(_begins(tail, doi.lower()) for tail in tails)


def _begins(tail: str, doi: str) -> bool:
    at = 0
    for wanted in doi:
        while at < len(tail) and tail[at].isspace():
            at += 1
        if at == len(tail) or tail[at].lower() != wanted:
            return False
        at += 1
    return not tail[at : at + 1].isalnum()


def _trimmed(found: str) -> str:
    doi = found.rstrip(_TRAILING)
    while doi.endswith(")") and doi.count("(") < doi.count(")"):
        doi = doi[:-1].rstrip(_TRAILING)
    return doi.lower()
