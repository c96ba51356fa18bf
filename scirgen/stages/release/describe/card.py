"""The dataset card: README.md with the YAML header that the Hugging Face Hub and ``datasets.load_dataset`` read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from scirgen.core.records import ORIGINS
from scirgen.release_files.judged import known_writer, label_note
from scirgen.release_files.publishing import Publishing, lines_of
from scirgen.release_files.release import FEWEST_OTHERS, GRADES, SPLITS, Release, ReleaseInfo, row_model
from scirgen.stages.release.defects import Defects, known_limits
from scirgen.stages.release.describe.features import TABLES, features
from scirgen.stages.release.describe.method import Method, cited

_TEMPLATES = Path(__file__).parent
_HUB_SPLIT = {"train": "train", "dev": "validation", "test": "test"}
_SIZES = ((10**3, "n<1K"), (10**4, "1K<n<10K"), (10**5, "10K<n<100K"), (10**6, "100K<n<1M"))
_FORMAT_NOTES = {
    "parquet": "the same tables as Parquet",
    "beir": "a BEIR folder for each setting and for passages: corpus, queries, qrels",
    "trec": "TREC topics, qrels and documents",
    "ir_datasets": "files for ir_datasets, with ids `scirgen/NAME/SETTING/SPLIT` and `scirgen/NAME/passages/SPLIT`",
    "rag": "at most 200 answered questions with their passages, for LlamaIndex and Ragas",
}


@dataclass(frozen=True)
class Graded:
    """The grades of passages: queries with a passage of grade 2, the number of each grade, and the passages per query
    that answer none."""

    queries: int
    counts: Counter[int]
    others: float

    @classmethod
    def of(cls, release: Release) -> Graded:
        """Count a release's grades."""
        counts: Counter[int] = Counter()
        gold: set[str] = set()
        queries = 0
        for split in SPLITS:
            for grades in release.passage_qrels(split).values():
                counts.update(grades.values())
                best = [passage for passage, grade in grades.items() if grade == max(GRADES)]
                queries += bool(best)
                gold.update(best)
        return cls(queries, counts, (release.info.counts.get("passages", 0) - len(gold)) / max(1, queries))


def write_card(release: Release, formats: Sequence[str]) -> None:
    """Write README.md and datasheet.md into the release. All their figures are counted from the release."""
    info = release.info
    rows_per_type: Counter[str] = Counter()
    rows_per_level: Counter[str] = Counter()
    found, method = Defects(), Method()
    for row in release.rows():
        method.see(row)
        rows_per_type[row.question_type or "no type"] += 1
        rows_per_level[row.bloom or "not tagged"] += 1
        found.see(row)
    limits = list(known_limits(info, found))
    text = render(
        "card.md.j2",
        header=yaml.safe_dump(header(info), sort_keys=False, allow_unicode=True, width=1000),
        info=info,
        splits=SPLITS,
        formats=formats,
        format_notes=_FORMAT_NOTES,
        origins=ORIGINS,
        limits=limits,
        made=list(method.sentences(info)),
        citations=cited(info),
        publishing=Publishing(lines_of(release)),
        embedded=known_writer(method.models | {m.model for m in info.made if m.stage != "filter"}),
        graded=Graded.of(release),
        fewest_others=FEWEST_OTHERS,
        types=sorted(rows_per_type.items()),
        levels=sorted(rows_per_level.items()),
    )
    (release.folder / "README.md").write_text(text, encoding="utf-8")
    sheet = render(
        "datasheet.md.j2", info=info, limits=limits, made=list(method.sentences(info)), filter=method.filter()
    )
    (release.folder / "datasheet.md").write_text(sheet, encoding="utf-8")


def render(template: str, **values: object) -> str:
    """Render one of the package's Markdown templates; table cells are escaped with the ``cell`` filter."""
    environment = Environment(  # noqa: S701 - Markdown; what could break a table goes through `cell`
        loader=FileSystemLoader(_TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["cell"] = _cell
    environment.filters["label_note"] = label_note
    environment.filters["thousands"] = lambda n: f"{n:,}"
    return environment.get_template(template).render(**values)


def header(info: ReleaseInfo) -> dict[str, Any]:
    """Return the YAML header: configurations with their files and columns."""
    filled = [s for s in SPLITS if s in info.splits and info.splits[s].rows]
    questions = {
        "config_name": "questions",
        "default": True,
        "data_files": [{"split": _HUB_SPLIT[s], "path": f"{s}.jsonl"} for s in filled],
    }
    counted = ("papers", "aspects", "passages")
    tables = {n: t for n, t in TABLES.items() if info.counts.get(n if n in counted else "datasets", 0)}
    return {
        "pretty_name": info.name,
        "language": [info.language],
        "license": "other",
        "license_name": "per-passage",
        "license_link": "README.md#licences",
        "task_categories": ["question-answering", "text-retrieval"],
        "size_categories": [next((s for n, s in _SIZES if info.counts.get("rows", 0) < n), "n>1M")],
        "tags": ["scirgen", "scientific datasets", "dataset retrieval", "synthetic", "croissant"],
        "configs": [
            *([questions] if filled else []),
            *(
                {"config_name": name, "data_files": [{"split": "corpus", "path": path}]}
                for name, (_, path) in tables.items()
            ),
        ],
        "dataset_info": [
            *([{"config_name": "questions", "features": features(row_model(info.row_fields))}] if filled else []),
            *({"config_name": name, "features": features(model)} for name, (model, _) in tables.items()),
        ],
    }


def _cell(value: object) -> str:
    text = str(value).replace("\\", "\\\\").replace("<", "&lt;").replace("\n", " ")
    for sign in "|[]`":  # so that a catalogue's title cannot become a table, link, picture or code
        text = text.replace(sign, f"\\{sign}")
    return text
