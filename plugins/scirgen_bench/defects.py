"""`scirgen audit`: applies all gates that need no model to any question-answer set. It only reports; it removes
nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from scirgen import Config, Dataset, Gate, Material, QAPair, StageContext, Table
from scirgen.claims.conformance import matches, polarity
from scirgen.commands.tables import Rows, holds_questions, rows_of
from scirgen.core.text.analysis import terms
from scirgen.core.text.language import detect_language
from scirgen.plugin import (
    PromptLibrary,
    QAGroup,
    QARow,
    Registry,
    Resources,
    Taxonomies,
    blocking,
    load_registry,
    open_qa,
    resolve_config,
)
from scirgen.release_files.qafiles import QAFile, no_rows, plain_groups
from scirgen.repeats.neardup import Asked, resolve
from scirgen.stages.collect.files.folder import record_files
from scirgen.stages.collect.files.recordfiles import kind_of
from scirgen.stages.filter.stage import select_gates, verdicts_of
from scirgen_bench.rowfiles import type_key

if TYPE_CHECKING:
    import pandas as pd

_EXAMPLES = 5
READS = ("filter", "language", "overrides")
"""The settings that an audit reads."""


@dataclass(repr=False)
class Audit:
    """The findings. A row may have several defects; ``defects`` counts rows per code.

    Attributes:
        domain: the one whose settings and taxonomies were used.
        rows: questions read.
        datasets: gold datasets with a question.
        defects: gate code -> rows it would reject; ``conflicting_gold`` and ``merged`` count rows whose question
            another dataset has too, nearly word for word, with another or the same answer.
        overruled: gate code -> rows that a judge read and kept, beside which the gate only doubts or is off; these are
            no defects.
        clean_rows: rows without any defect.
        languages: rows per language, as the file says or as the words show.
        checked: codes of the gates that could judge a row.
        not_checked: code of any other gate -> what the file lacks for it.
        verification: answers of Verification questions: yes, no, other.
        pointing_phrases: rows with "the study", "this dataset", "the context" or the like; most of them are harmless
            ("in the context of ..."), and ``defects["pointing"]`` counts those that point at something the reader
            cannot see.
        repeated_questions: rows whose question an earlier row of another dataset has word for word.
        most_repeated: the question that most datasets share, and their number.
        examples: gate code -> some (row id, question, reason).
    """

    path: str
    kind: str
    domain: str = ""
    rows: int = 0
    datasets: int = 0
    clean_rows: int = 0
    defects: Counter[str] = field(default_factory=Counter)
    overruled: Counter[str] = field(default_factory=Counter)
    by_type: dict[str, Counter[str]] = field(default_factory=dict)
    types: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    checked: set[str] = field(default_factory=set)
    not_checked: dict[str, str] = field(default_factory=dict)
    verification: Counter[str] = field(default_factory=Counter)
    pointing_phrases: int = 0
    repeated_questions: int = 0
    most_repeated: tuple[str, int] = ("", 0)
    examples: dict[str, list[tuple[str, str, str]]] = field(default_factory=dict)

    @property
    def yes_share(self) -> float | None:
        """Share of "yes" among all answers to Verification questions; None if there are none."""
        total = self.verification.total()
        return self.verification["yes"] / total if total else None

    def as_json(self) -> dict[str, object]:
        """Return plain data in the form of ``--json``."""
        return {
            "path": self.path,
            "format": self.kind,
            "domain": self.domain,
            "rows": self.rows,
            "datasets": self.datasets,
            "clean_rows": self.clean_rows,
            "defects": dict(sorted(self.defects.items())),
            "overruled": dict(sorted(self.overruled.items())),
            "defects_by_type": {k: dict(sorted(v.items())) for k, v in sorted(self.by_type.items())},
            "rows_by_language": dict(sorted(self.languages.items())),
            "rows_by_type": dict(sorted(self.types.items())),
            "not_checked": dict(sorted(self.not_checked.items())),
            "yes_share": self.yes_share,
            "verification": {k: self.verification[k] for k in ("yes", "no", "other")},
            "pointing_phrases": self.pointing_phrases,
            "repeated_questions": self.repeated_questions,
            "most_repeated": {"question": self.most_repeated[0], "datasets": self.most_repeated[1]},
            "examples": {
                code: [{"id": i, "question": q, "reason": r} for i, q, r in found]
                for code, found in sorted(self.examples.items())
            },
        }

    def table(self) -> Table:
        rows = [{"defect": c, "rows": n, "share": n / max(self.rows, 1)} for c, n in self.defects.most_common()]
        return Table(rows, f"{self.path}: {self.rows} rows, {self.clean_rows} without a defect")

    def to_pandas(self) -> pd.DataFrame:
        """Return the table of defects as a DataFrame."""
        return self.table().to_pandas()

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def found(self, code: str, row: QARow, reason: str) -> None:
        self.defects[code] += 1
        self.by_type.setdefault(type_key(row.question_type) or "?", Counter())[code] += 1
        kept = self.examples.setdefault(code, [])
        if len(kept) < _EXAMPLES:
            kept.append((row.id, row.question, reason))


def open_rows(given: Rows, split: str | None = None, language: str = "") -> QAFile:
    """Return a question-answer set of any form: those of `open_qa`, and tables with ``question`` and ``answer`` (CSV,
    TSV, Parquet, a folder of them such as a Hugging Face dataset, a list, a DataFrame).

    Raises:
        InputError: it is none of these.
    """
    path = Path(given) if isinstance(given, (str, Path)) else None
    if path is not None and path.exists() and not _is_table(path):
        return open_qa(path, split, language)
    return QAFile(path or Path("rows"), "table", lambda: plain_groups(rows_of(given), split, language))


def _is_table(path: Path) -> bool:
    """Return whether a path is a table that `open_qa` does not read: CSV, TSV, Parquet, or a folder of only these."""
    if path.is_dir():
        files = [] if holds_questions(path) else [p for p, _ in record_files(path)]
        return bool(files) and all(kind_of(p) in _TABLES or p.suffix == ".jsonl" for p in files)
    return kind_of(path) in _TABLES


_TABLES = ("csv", "tsv", "parquet")


def audit_rows(
    given: Rows,
    *,
    split: str | None = None,
    domain: str | None = None,
    config_file: Path | None = None,
    flags: Mapping[str, object] | None = None,
) -> Audit:
    """Open a question-answer set and judge it; a release with the settings of its own domain, if that is installed and
    neither ``domain`` nor a file of settings names another.

    Raises:
        InputError: the file is none.
        ConfigError: a setting is wrong, or no audit reads it.
    """
    opened = open_rows(given, split, str((flags or {}).get("language", "")))
    registry = load_registry()
    own = opened.domain if opened.domain in registry.names("domain") and not config_file else None
    loaded, pack = resolve_config(domain=domain or own, config_file=config_file, flags=flags, reads=READS)
    overrides = Path(loaded.config.overrides) if loaded.config.overrides else None
    return judge_rows(opened, loaded.config, Resources(pack, overrides), registry)


def judge_rows(file: QAFile, config: Config, resources: Resources, registry: Registry) -> Audit:
    """Apply the active gates that need no model to a question-answer set.

    Every gate sees every row of a dataset, whatever the other gates decide, so the counts do not depend on their order.

    Raises:
        InputError: the file is malformed or holds no question.
        ResourceError: a taxonomy or prompt file is wrong.
    """
    return blocking(_audit(file, config, resources, registry))


async def _audit(file: QAFile, config: Config, resources: Resources, registry: Registry) -> Audit:
    ctx = StageContext(
        config, resources, PromptLibrary(resources), Taxonomies(resources), registry, Path(), stage="filter"
    )
    # An audit only reports, so it also shows what gates find that reject by default only where a small model writes.
    gates = [g for g in select_gates(config, registry, "small") if not g.models()]
    binding = {g.code for g in select_gates(config, registry, judged=True) if g.action == "reject"}
    used = resources.domain.name if resources.domain else ""
    result = Audit(str(file.path), file.kind, used, defects=Counter({OFF_CONTEXT: 0, **{g.code: 0 for g in gates}}))
    seen: list[QARow] = []
    defective: set[int] = set()
    for group in file.groups():
        if not group.rows:
            continue
        result.datasets += 1
        base = len(seen)
        seen += group.rows
        for position in await _judge_group(group, gates, binding, result, ctx):
            defective.add(base + position)
    if not seen:
        raise no_rows(file.path)
    result.rows = len(seen)
    result.not_checked = {c: r for c, r in result.not_checked.items() if c not in result.checked}
    for code in result.not_checked:
        del result.defects[code]
    _whole_run(seen, result, defective, ctx)
    result.clean_rows = result.rows - len(defective)
    return result


async def _judge_group(
    group: QAGroup, gates: Iterable[Gate], binding: Container[str], result: Audit, ctx: StageContext
) -> set[int]:
    """Positions of the rows with a defect; ``binding``: codes of the gates that reject whatever a judge says."""
    pairs = [_pair(row, group.dataset_id, n) for n, row in enumerate(group.rows)]
    dataset = Dataset(id=group.dataset_id, title=group.title) if group.dataset_id and group.title else None
    material = Material(dataset, (), group.context, dict(group.sources))
    for row, pair in zip(group.rows, pairs, strict=True):
        result.types[pair.question_type or "?"] += 1
        result.languages[row.language] += 1
        phrases = ctx.taxonomies.wording.of(row.language).pointing_phrases
        result.pointing_phrases += matches(phrases, row.question) is not None
        if pair.question_type == "verification" and row.answer is not None:
            said = polarity(row.answer, ctx.taxonomies.wording.of(row.language))
            result.verification[said or "other"] += 1
    defective: set[int] = set()
    for gate in gates:
        able = [
            n
            for n, row in enumerate(group.rows)
            if not (gate.known_items and pairs[n].sought)
            and (not (lack := _lacks(gate, row, group)) or _note(result, gate, lack))
        ]
        if able:
            result.checked.add(gate.code)
        verdicts = await verdicts_of(gate, [pairs[n] for n in able], material, ctx)
        for n, verdict in zip(able, verdicts, strict=True):
            if not verdict.accept and group.rows[n].judged and gate.code not in binding:
                result.overruled[gate.code] += 1
            elif not verdict.accept:
                result.found(gate.code, group.rows[n], _NUMBERED.sub("", verdict.reason))
                defective.add(n)
    for n in _off_context(group, result):
        defective.add(n)
    return defective


OFF_CONTEXT = "off_context"
_FEWEST_WORDS, _SHARED = 3, 0.2
"""Fewest content words of a question that is judged by them, and the largest share of them that its text has if it is
about something else: 38 of 8,408 questions of ScIRGen-Geo (four of them quote another script), none of the public
sample's 538, and 26 to 33 % of the same questions over a random other dataset of their field."""


def _off_context(group: QAGroup, result: Audit) -> Iterator[int]:
    """Yield the positions of questions whose words are nearly all absent from their text. No gate looks for them, since
    generators write from it.

    The text is all that the file has about the dataset; in a table without datasets, the row's own.
    """
    whole = " ".join((group.title, group.context, *group.sources.values())) if group.dataset_id else ""
    of_whole: dict[str, frozenset[str]] = {}
    spoken = detect_language(whole, "")
    for n, row in enumerate(group.rows):
        quoted, language = " ".join(span.text for span in row.evidence), row.language.split("-")[0]
        if not whole.strip() and not quoted:
            result.not_checked.setdefault(OFF_CONTEXT, "rows have no context")
            continue
        if (spoken or detect_language(quoted, language)) != language:
            result.not_checked.setdefault(OFF_CONTEXT, "questions and texts are in different languages")
            continue
        result.checked.add(OFF_CONTEXT)
        if language not in of_whole:
            of_whole[language] = frozenset(terms(whole, language))
        asked = frozenset(terms(row.question, language))
        shared = asked & (of_whole[language] | frozenset(terms(quoted, language)))
        if len(asked) >= _FEWEST_WORDS and len(shared) <= _SHARED * len(asked):
            if row.judged:
                result.overruled[OFF_CONTEXT] += 1
                continue
            result.found(OFF_CONTEXT, row, f"its text lacks the words: {', '.join(sorted(asked - shared)[:6])}")
            yield n


_NUMBERED = re.compile(r"\b\d{6}\|")
"""The numbers before rows' ids in reasons (`_pair`)."""


def _note(result: Audit, gate: Gate, lack: str) -> bool:
    result.not_checked.setdefault(gate.code, lack)
    return False


def _lacks(gate: Gate, row: QARow, group: QAGroup) -> str:
    """Return the parts that the row lacks for a verdict of the gate; "" if nothing."""
    has = {
        "answer": row.answer is not None,
        "type": bool(row.question_type),
        "dataset": bool(group.title),
        "context": bool(group.context or row.evidence),
        "evidence": bool(row.evidence),
        "scores": False,
        "sources": bool(row.evidence) and all(s.document_id in group.sources for s in row.evidence),
    }
    missing = next((need for need in gate.needs if not has[need]), None)
    return f"rows have no {missing}" if missing else ""


def _pair(row: QARow, dataset_id: str, number: int) -> QAPair:
    return QAPair(
        # Gates see pairs in the order of ids; a file's own order is kept by numbering them.
        id=f"{number:06d}|{row.id}",
        dataset_id=dataset_id,
        question=row.question,
        answer=row.answer or "",
        question_type=type_key(row.question_type),
        evidence=row.evidence,
        language=row.language,
        asked=row.asked,
    )


def _whole_run(rows: Sequence[QARow], result: Audit, defective: set[int], ctx: StageContext) -> None:
    """Find repeats between datasets: word for word, and near-duplicates with other gold datasets."""
    datasets: dict[str, set[str]] = {}
    for row in rows:
        gold = row.dataset_ids[0] if row.dataset_ids else ""
        known = datasets.setdefault(row.question, set())
        result.repeated_questions += bool(known - {gold}) and gold not in known
        known.add(gold)
    most = max(datasets.items(), key=lambda kv: (len(kv[1]), kv[0]), default=("", set[str]()))
    result.most_repeated = (most[0], len(most[1])) if len(most[1]) > 1 else ("", 0)
    language = rows[0].language if rows else "en"
    resolution = resolve(_asked(rows), ctx.taxonomies.wording.of(language))
    for drop in resolution.drops:
        if drop.code != "near_duplicate":  # a repeat within a dataset: the gate "duplicate" has counted it
            position = int(drop.id)
            defective.add(position)
            result.found(drop.code, rows[position], drop.reason)


def _asked(rows: Sequence[QARow]) -> Iterator[Asked]:
    for n, row in enumerate(rows):
        gold = row.dataset_ids[0] if row.dataset_ids else ""
        yield Asked(f"{n:08d}", gold, row.question, row.answer or "", type_key(row.question_type))
