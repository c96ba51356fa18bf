"""Counts of a run's questions: levels, polarity, declines, evidence, whether they name what they are about, and the
tokens of all model calls by prompt and per released row.

    python -m benchmarks.questions RUN [--json FILE]

Reads any run's folder. A question names its region, product or dataset when it holds a name that its dataset's record
or its paper's title has: counted by capital letters, so that it is a lower bound for texts in English and means nothing
in Chinese. Tokens are those of the replies in the run's store, so calls of an earlier invocation count too; where a
backend counts none, characters / 4 stand for them, and the figures say so.
"""

from __future__ import annotations

import argparse
import json
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from scirgen.claims.conformance import polarity
from scirgen.core.prompts import PromptLibrary
from scirgen.core.records import Document, QAPair
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.llm.cache import CachedReply, ReplyCache
from scirgen.pipeline.views.view import StoreView, open_view

_NAME = re.compile(
    r"(?<![.?!:] )(?<!^)\b(?:[A-Z][a-z]+(?:[ -][A-Z][a-z]+)*|[A-Z]{2,}[\w-]*|[A-Z][A-Za-z]*[A-Z][\w-]*)\b"
)
_CHARACTERS_A_TOKEN = 4
_OPENING = 40
"""Characters of a system text that tell which prompt it is from."""
_COMMON = frozenset(("The", "This", "Please", "Yes", "No", "Title", "Description", "Keywords", "Data"))


def names(text: str) -> set[str]:
    """Words of a text that look like names, one by one."""
    return {word for name in _NAME.findall(text) for word in re.split(r"[ -]", name) if len(word) > 1} - _COMMON


def measure(view: StoreView, folder: Path) -> dict[str, object]:
    """Every figure of one run."""
    taxonomies = Taxonomies(Resources())
    pairs = list(view.pairs())
    sources: dict[str, str] = {d.id: d.text for d in view.datasets()}
    known = {d.id: names(d.text) for d in view.datasets()}
    for document in view.records("parse", Document):
        sources[document.id] = document.text
        known[document.id] = names(document.title) | names(document.abstract)
    generated = view.funnel()["generate"]
    said = Counter(
        polarity(p.answer, taxonomies.wording.of(p.language))
        for p in pairs
        if taxonomies.question_type(p.question_type).polar
    )
    fits = [(p.intended_bloom, p.bloom) for p in pairs if p.intended_bloom and p.bloom]
    spans = [s for p in pairs for s in p.evidence]
    return {
        "asked_for": generated["outputs"] + generated["rejected"] - generated.get("rejected:surplus", 0),
        "candidates": generated["outputs"],
        "accepted": len(pairs),
        "model_calls": _calls(view),
        "rejected_by_the_filter": _codes(view, "filter"),
        "declined": generated.get("rejected:declined", 0),
        "declined_by_type": {t: n for t, codes in view.rejected_by_type().items() if (n := codes.get("declined"))},
        "about": dict(Counter(p.about or "not known" for p in pairs)),
        "with_several_gold_datasets": sum(len(p.gold) > 1 for p in pairs),
        "yes_and_no": {"yes": said["yes"], "no": said["no"]},
        "level_as_asked": [sum(a == b for a, b in fits), len(fits)],
        "levels_given_by_type": _levels(pairs),
        "evidence_spans_verbatim": [
            sum(sources.get(s.document_id, "")[s.start : s.end] == s.text for s in spans),
            len(spans),
        ],
        "evidence_spans_a_pair": round(len(spans) / len(pairs), 2) if pairs else None,
        "evidence_ends_cut": sum(_cut(s.text, sources.get(s.document_id, ""), s.end) for s in spans),
        "naming_what_they_are_about": [sum(bool(_named(p, known)) for p in pairs), len(pairs)],
        "tokens": tokens(view, folder),
    }  # fmt: skip


def _calls(view: StoreView) -> dict[str, object]:
    """Calls of each model role, over all invocations of the run; replies from its cache are not among them."""
    usage = view.manifest().get("usage")
    roles = usage if isinstance(usage, dict) else {}
    return {
        role: found["calls"] for role, found in sorted(roles.items()) if isinstance(found, dict) and found.get("calls")
    }


def _codes(view: StoreView, stage: str) -> dict[str, int]:
    start = "rejected:"
    return {c.removeprefix(start): n for c, n in sorted(view.funnel()[stage].items()) if c.startswith(start) and n}


def _levels(pairs: Iterable[QAPair]) -> dict[str, dict[str, int]]:
    table: dict[str, Counter[str]] = {}
    for pair in pairs:
        if pair.bloom:
            table.setdefault(pair.question_type, Counter())[f"{pair.intended_bloom or '-'}>{pair.bloom}"] += 1
    return {kind: dict(sorted(counts.items())) for kind, counts in sorted(table.items())}


def _named(pair: QAPair, known: Mapping[str, set[str]]) -> set[str]:
    about = set[str]().union(
        known.get(pair.dataset_id, set()), *(known.get(s.document_id, set()) for s in pair.evidence)
    )
    return names(pair.question) & about


def _cut(text: str, source: str, end: int) -> bool:
    """True if a span stops right before the mark that ends its sentence."""
    return text[-1:].isalnum() and source[end : end + 1] in (".", "?", "!", "”", '"', ")")


def openings() -> dict[str, str]:
    """The beginning of each prompt's system text, up to its first variable -> the prompt's id."""
    library = PromptLibrary(Resources())
    found = {}
    for id in library.ids():
        system = re.split(r"\{[{%]", library.get(id).file.system or "")[0].strip()
        if system:
            found[" ".join(system.split())[:_OPENING]] = id
    return found


def replies(folder: Path) -> Iterator[CachedReply]:
    """The chat replies in a run's store."""
    database = sqlite3.connect(f"file:{folder / 'run.db'}?mode=ro", uri=True)
    cache = ReplyCache(database, owned=True)
    for (key,) in database.execute("SELECT key FROM replies WHERE kind='chat' ORDER BY key").fetchall():
        if (found := cache.peek(key)) is not None:
            yield found


def tokens(view: StoreView, folder: Path) -> dict[str, object]:
    """Calls, prompt and reply tokens of each prompt, and of all per released row."""
    known = openings()
    calls: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    estimated = 0
    for reply in replies(folder):
        messages = json.loads(reply.request)["messages"]
        texts = [m["content"] if isinstance(m, dict) else m[1] for m in messages]
        start = " ".join(texts[0].split())[:_OPENING]
        name = next((id for opening, id in known.items() if start.startswith(opening)), "other")
        counted = reply.usage.prompt_tokens, reply.usage.completion_tokens
        estimated += None in counted
        lengths = sum(len(t) for t in texts) // _CHARACTERS_A_TOKEN, len(reply.text) // _CHARACTERS_A_TOKEN
        for i, number in enumerate((1, *(n if n is not None else e for n, e in zip(counted, lengths, strict=True)))):
            calls[name][i] += number
    rows = sum(view.released_rows().values())
    totals = [sum(entry[i] for entry in calls.values()) for i in range(3)]
    return {
        "rows": rows,
        "calls": {
            name: dict(zip(("calls", "prompt", "reply"), entry, strict=True))
            for name, entry in sorted(calls.items())
        },
        "all": dict(zip(("calls", "prompt", "reply"), totals, strict=True)),
        "per_row": {"prompt": round(totals[1] / rows, 1), "reply": round(totals[2] / rows, 1)} if rows else {},
        "calls_with_estimated_tokens": estimated,
    }  # fmt: skip


def main() -> None:
    """Print the figures of a run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    view = open_view(arguments.run)
    try:
        found = measure(view, arguments.run)
    finally:
        view.close()
    text = json.dumps(found, indent=2, ensure_ascii=False)
    if arguments.json:
        arguments.json.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
