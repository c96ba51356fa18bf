"""Measures how well papers are parsed and their sections labelled, against the papers' sources: ``python -m
benchmarks.parsing``.

Headings: an extracted heading is right if its normalised text is at least 90 % similar to a heading of the truth
(rapidfuzz ratio), in any order. Headings in ``missing`` and the labels of abstracts are not counted. Back matter named
in the truth counts as right if it is found, and not as an error if it is not. Body coverage: share of the truth's word
5-grams (letters only, not across a citation, a reference, a formula or an inline program of the source) that are found
in the parsed prose. Sections: the class of each truth heading, compared with the usual name of the outermost heading,
or else the publisher's own ``sec-type``. Headings with neither are not scored; headings that were not found count as
wrong. Pages per second: CPU time of one process on one core.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import re
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from rapidfuzz import fuzz

from benchmarks._baselines import BASELINES, Extract
from benchmarks._papers import Truth, load_truths
from benchmarks._truth_text import NEUTRAL, normal
from scirgen import ParsedPaper
from scirgen.core.records import BlockKind, Document, Paper
from scirgen.core.resources import Resources
from scirgen.core.runtime import rare_collections
from scirgen.core.taxonomy import Taxonomies
from scirgen.stages.parse.assemble import assemble
from scirgen.stages.parse.base import ParserOptions
from scirgen.stages.section.rules import HeadingRules, heading_runs
from scirgen.stages.section.stage import fallback, label_by_rules
from scirgen_pdf.headings.trees import Classifier
from scirgen_pdf.parser import PdfParser

Scores = dict[str, float | int | None]

_GOLD = (
    ("abstract_introduction", r"^(?:introdu|background|statement of need|summary|resum)"),
    ("related_work", r"^(?:related work|literature review|state of the art)"),
    ("method", r"^(?:materia|method|procedimientos metodol|metod|data and methods|study area)"),
    ("experiment", r"^(?:result|discuss|findings)"),
    ("conclusion", r"^(?:conclu|considera..es finais|implications and future|summary and conclusion)"),
    (
        "none",
        r"^(?:acknowledg|appendix|references?$|references and notes|conflict|author contrib|funding|data avail|supp"
        r"|publisher|generative ai|footnote|agrad)",
    ),
)


def main() -> None:
    """Run, print the tables, and write ``--json`` where asked for."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", type=Path, nargs="+", required=True)
    arguments.add_argument("--json", type=Path)
    arguments.add_argument("--no-baselines", action="store_true")
    arguments.add_argument("--no-left-out", action="store_true", help="skip the table of papers left out of training")
    arguments.add_argument("--seeds", type=int, nargs="+", default=[7, 1, 2, 3, 4], help="of those classifiers")
    arguments.add_argument("--rules", action="store_true", help="also the table of rules beside the classifier")
    arguments.add_argument("--reader", default="auto", help="auto, pdfium or pymupdf")
    arguments.add_argument("--only", default="", help="papers whose name contains this")
    arguments.add_argument("--by-hand", action="store_true", help="all sections, by the `kinds` of the truth")
    arguments.add_argument("--ablate", action="store_true", help="only show the rows that change without each rule")
    given = arguments.parse_args()
    truths = [(folder, t) for folder in given.data for t in load_truths(folder) if given.only in t.name]
    if not given.by_hand:
        for _, truth in truths:
            truth.kinds = {}
    if given.ablate:
        from benchmarks.layout_ablation import ablate

        rules = _section_rules()

        def row(truth: Truth, parsed: ParsedPaper) -> Scores:
            document = assemble(Paper(id=truth.name), parsed)
            return measure([(Path(), truth)], lambda _: _extracted(document, rules, 1.0))[1][truth.name]

        ablate(truths, given.reader, row, lambda line: print(line, flush=True))
        return
    result: dict[str, object] = {"baselines": {}, "left_out": {}}
    result["overall"], result["papers"] = measure(truths, scirgen_extract(given.reader))
    if not given.no_left_out:
        from benchmarks.headings import collected, leave_one_out

        material = collected(given.data)
        runs = [measure(truths, scirgen_extract(given.reader, leave_one_out(material, seed))) for seed in given.seeds]
        means = {key: _mean([overall[key] for overall, _ in runs]) for key in _COLUMNS}
        spread = sorted(overall["heading_precision"] for overall, _ in runs)
        print(f"without the paper: mean of {len(runs)} classifiers; heading precision {spread[0]} to {spread[-1]}")
        result["left_out"] = {"overall": means, "papers": runs[0][1]}
    if given.rules:
        from benchmarks._heading_rules import RULES

        overall, papers = measure(truths, scirgen_extract(given.reader, lambda _: RULES))
        result["rules"] = {"overall": overall, "papers": papers}
    if not given.no_baselines:
        result["baselines"] = {n: measure(truths, extract)[0] for n, extract in BASELINES.items()}
    print(markdown(result))
    if given.json:
        given.json.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def scirgen_extract(reader: str, model: Callable[[str], Classifier] | None = None) -> Callable[[Path], Extract]:
    """scirgen's PDF parser and section rules, in this process, as the worker runs them; ``model``: the classifier by
    paper."""
    rules = _section_rules()
    shipped = PdfParser()

    def extract(path: Path) -> Extract:
        parser = PdfParser(model(path.stem)) if model else shipped
        began = time.process_time()
        with rare_collections():
            parsed = parser.parse(path, ParserOptions(no_extract="parse", reader=reader))
            document = assemble(Paper(id=path.stem), parsed)
            gc.collect()
        return _extracted(document, rules, time.process_time() - began)

    return extract


def _section_rules() -> HeadingRules:
    return HeadingRules(Taxonomies(Resources()).sections.sections)


def _extracted(document: Document, rules: HeadingRules, seconds: float) -> Extract:
    heads = [(b.level or 1, document.text[b.start : b.end]) for b in document.blocks if b.kind is BlockKind.HEADING]
    prose = [b for b in document.blocks if b.kind in (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM)]
    body = "\n".join(document.text[b.start : b.end] for b in prose)
    return Extract(heads, document.abstract, body, document.pages, _labels(document, rules), seconds)


def _labels(document: Document, rules: HeadingRules) -> list[tuple[str, str, str]]:
    runs = heading_runs(document)
    decided = label_by_rules(document, runs, rules)
    return [
        (run.heading, (label or fallback(runs, decided, i)).value, "rule" if label else "open")
        for i, (run, label) in enumerate(zip(runs, decided, strict=True))
    ]


def measure(
    truths: Sequence[tuple[Path, Truth]], extract: Callable[[Path], Extract]
) -> tuple[dict[str, object], dict[str, Scores]]:
    """Scores over all papers (headings and sections pooled, the others averaged) and per paper."""
    papers: dict[str, Scores] = {}
    counts: Counter[str] = Counter()
    classes: Counter[str] = Counter()
    if truths:
        extract(truths[0][0] / "pdf" / f"{truths[0][1].name}.pdf")  # imports and first use of fonts are not parsing
    for data, truth in truths:
        began = time.process_time()
        got = extract(data / "pdf" / f"{truth.name}.pdf")
        seconds = got.seconds or time.process_time() - began
        scores, found = _headings(truth, got)
        scores |= _sections(truth, got, found, counts, classes)
        scores["abstract_f1"] = token_f1(truth.abstract, got.abstract) if truth.abstract else None
        scores["body_coverage"] = coverage(truth.body, got.body) if truth.body else None
        scores["pages_per_s"] = round(got.pages / seconds, 1) if seconds else None
        counts.update({"pages": got.pages})
        counts.update({k: int(scores.pop(f"_{k}") or 0) for k in ("hit", "asked", "given", "level", "order", "pairs")})
        counts["ms"] += round(seconds * 1000)
        papers[truth.name] = scores
    overall: dict[str, object] = {
        "heading_recall": _ratio(counts["hit"], counts["asked"]),
        "heading_precision": _ratio(counts["given_right"] or counts["given"], counts["given_all"] or counts["given"]),
        "abstract_f1": _mean([p["abstract_f1"] for p in papers.values()]),
        "body_coverage": _mean([p["body_coverage"] for p in papers.values()]),
        "section_accuracy": _ratio(counts["section_right"], counts["section"]),
        "pages_per_s": round(1000 * counts["pages"] / max(1, counts["ms"]), 1),
    }
    right = sum(round((p["heading_precision"] or 0) * (p["headings_found"] or 0)) for p in papers.values())
    overall["heading_precision"] = _ratio(right, sum(int(p["headings_found"] or 0) for p in papers.values()))
    overall["level_agreement"] = _ratio(counts["level"], counts["hit"])
    overall["order_agreement"] = _ratio(counts["order"], counts["pairs"])
    if counts["section"]:
        overall["sections"] = {
            "scored": counts["section"],
            "left_open_by_rules": counts["section_open"],
            "per_class": {c: f"{classes[c + '+']}/{classes[c]}" for c in sorted(c for c in classes if "+" not in c)},
        }
    return overall, papers


def _headings(truth: Truth, got: Extract) -> tuple[Scores, list[tuple[int, int]]]:
    asked = [(level, normal(text)) for level, text in truth.headings if text not in truth.missing]
    given = [(level, normal(text)) for level, text in got.headings]
    pairs: list[tuple[int, int]] = []
    used: set[int] = set()
    for i, (_, name) in enumerate(asked):
        best = max(
            (j for j in range(len(given)) if j not in used),
            key=lambda j: (fuzz.ratio(name, given[j][1]), -j),
            default=None,
        )
        if best is not None and fuzz.ratio(name, given[best][1]) >= 90:
            used.add(best)
            pairs.append((i, best))
    allowed = [normal(b) for b in truth.back] + [normal(m) for m in truth.missing]
    counted = right = 0
    for j, (_, name) in enumerate(given):
        if j in used:
            counted, right = counted + 1, right + 1
        elif name not in NEUTRAL:
            back = any(fuzz.ratio(name, b) >= 90 for b in allowed)
            counted, right = counted + 1, right + back
    order = sum(a[1] < b[1] for a, b in pairwise(pairs))
    level = sum(asked[i][0] == given[j][0] for i, j in pairs)
    scores: Scores = {
        "heading_recall": _ratio(len(pairs), len(asked)),
        "heading_precision": right / counted if counted else None,
        "headings_found": counted,
        "level_agreement": _ratio(level, len(pairs)),
        "order_agreement": _ratio(order, len(pairs) - 1) if len(pairs) > 1 else None,
        "_hit": len(pairs),
        "_asked": len(asked),
        "_given": counted,
        "_level": level,
        "_order": order,
        "_pairs": max(0, len(pairs) - 1),
    }
    return scores, pairs


def gold_label(truth: Truth, index: int) -> str | None:
    """The class of a truth heading: none for acknowledgements and references; else that of its outermost one by hand,
    where given; else the outermost usual name, else its own or its ancestors' ``sec-type``; None: not scored."""
    path = [truth.headings[index]]
    for level, text in reversed(truth.headings[:index]):
        if level < path[0][0]:
            path.insert(0, (level, text))
    if re.search(r"^(?:acknowledg|references?$)", normal(path[-1][1])):
        return "none"
    if truth.kinds:
        return None if (kind := truth.kinds.get(path[0][1], "?")) == "?" else kind
    if normal(path[0][1]).startswith("summary") and index and truth.headings[0][1] != path[0][1]:
        return "conclusion"  # "Summary and recommendations" behind other sections; before them it is an abstract
    for _, text in path:
        for label, pattern in _GOLD:
            if text not in truth.missing and re.search(pattern, normal(text)):
                return label
    return next((truth.sec_types[t] for _, t in path if t in truth.sec_types and t not in truth.missing), None)


def _sections(
    truth: Truth, got: Extract, pairs: list[tuple[int, int]], counts: Counter[str], classes: Counter[str]
) -> Scores:
    asked = [i for i, (_, text) in enumerate(truth.headings) if text not in truth.missing]
    found = {asked[i]: j for i, j in pairs}
    labels = [(label, by) for heading, label, by in got.labels if heading]
    scored = right = opened = 0
    for index in asked:
        gold = gold_label(truth, index)
        if gold is None or not got.labels:
            continue
        label, by = labels[found[index]] if index in found else ("", "")
        scored += 1
        right += label == gold
        opened += by == "open"
        classes[gold] += 1
        classes[gold + "+"] += label == gold
    counts.update({"section": scored, "section_right": right, "section_open": opened})
    return {"section_accuracy": _ratio(right, scored), "sections_open": opened}


def words(text: str) -> list[str]:
    """Letters-only words, lower case, ligatures opened; each Chinese character is a word."""
    return re.findall(r"[\u4e00-\u9fff]|(?:(?![\u4e00-\u9fff])[^\W\d_])+", unicodedata.normalize("NFKC", text).lower())


def token_f1(truth: str, got: str) -> float:
    """Harmonic mean of precision and recall of the bags of words."""
    a, b = Counter(words(truth)), Counter(words(got))
    common = sum((a & b).values())
    if not common:
        return 0.0
    precision, recall = common / sum(b.values()), common / sum(a.values())
    return 2 * precision * recall / (precision + recall)


def coverage(paragraphs: Sequence[str], got: str, n: int = 5) -> float:
    """Share of the word n-grams within the truth's paragraphs that occur in the parsed text."""
    tokens = words(got)
    have = set(zip(*(tokens[i:] for i in range(n)), strict=False))
    wanted = [gram for p in paragraphs for w in (words(p),) for gram in zip(*(w[i:] for i in range(n)), strict=False)]
    return sum(gram in have for gram in wanted) / len(wanted) if wanted else 0.0


def _ratio(a: float, b: float) -> float | None:
    return round(a / b, 4) if b else None


def _mean(values: Sequence[float | int | None]) -> float | None:
    known = [v for v in values if v is not None]
    return round(sum(known) / len(known), 4) if known else None


_COLUMNS = ("heading_recall", "heading_precision", "level_agreement", "order_agreement", "abstract_f1",
"body_coverage", "section_accuracy", "pages_per_s")  # fmt: skip


def markdown(result: dict[str, Any]) -> str:
    """Write two tables, one row for each paper and the whole: with the shipped classifier, and with one that did not
    see the paper."""
    parts = [_table(result, dict(result["baselines"]))]
    left_out = dict(result["left_out"])
    if left_out:
        parts += [
            "",
            "Each paper, parsed with a heading classifier that was trained without it:",
            "",
            _table(left_out, {}),
        ]
    rules = dict(result.get("rules") or {})
    if rules:
        parts += ["", _BESIDE, "", _side_by_side(left_out or result, rules)]
    return "\n".join(parts)


_BESIDE = (
    "Rules beside the classifier, each paper by a classifier trained without it. Only what calls a line a "
    "heading differs; the rules are\n"
    "those that the classifier replaced, and they were written with all of these papers at hand:"
)


def _side_by_side(learned: dict[str, Any], rules: dict[str, Any]) -> str:
    """Rules and classifier in neighbouring columns, one row a paper and the whole."""
    columns = ("heading_recall", "heading_precision", "level_agreement", "section_accuracy")
    heads = [f"{c.replace('_', ' ')}, {who}" for c in columns for who in ("rules", "classifier")]
    lines = ["| paper | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    pairs = [(name, scores, dict(learned["papers"])[name]) for name, scores in dict(rules["papers"]).items()]
    for name, a, b in [*pairs, ("**all papers**", rules["overall"], learned["overall"])]:
        lines.append(f"| {name} | " + " | ".join(_cell(c, s.get(c)) for c in columns for s in (a, b)) + " |")
    return "\n".join(lines)


def _table(result: dict[str, Any], baselines: dict[str, Any]) -> str:
    rows: list[tuple[str, dict[str, object]]] = [(n, dict(s)) for n, s in dict(result["papers"]).items()]
    rows.append(("**all papers**", dict(result["overall"])))
    rows += [(f"baseline {n}", dict(s)) for n, s in baselines.items()]
    lines = [
        "| paper | " + " | ".join(c.replace("_", " ") for c in _COLUMNS) + " |",
        "|---" * (len(_COLUMNS) + 1) + "|",
    ]
    for name, scores in rows:
        lines.append(f"| {name} | " + " | ".join(_cell(c, scores.get(c)) for c in _COLUMNS) + " |")
    sections = dict(result["overall"]).get("sections")
    if sections:
        lines += ["", f"Sections: {json.dumps(sections)}"]
    return "\n".join(lines)


def _cell(column: str, value: object) -> str:
    if not isinstance(value, int | float):
        return "-"
    return f"{value:.1f}" if column == "pages_per_s" else f"{value:.3f}"


if __name__ == "__main__":
    main()
