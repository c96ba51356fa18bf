"""Writes a release folder completely or not at all: writes a temporary folder beside it and renames it."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TextIO, runtime_checkable

from pydantic import BaseModel

from scirgen.core.config import ReleaseConfig
from scirgen.core.errors import InputError, PluginError, RunStoppingError, StoreError
from scirgen.core.files.jsonl import write_rows
from scirgen.core.fingerprint import file_sha256
from scirgen.core.records import ORIGINS, Rejection, Span, users_of
from scirgen.core.registry import Registry, described, returned
from scirgen.core.runtime import stop_here
from scirgen.core.safety.files import exchange, sync_folder, sync_tree
from scirgen.core.taxonomy import LanguageWording
from scirgen.release_files.publishing import FILE, lines_of, write_lines
from scirgen.release_files.release import (
    PASSAGE_QRELS,
    SPLITS,
    FileRow,
    Release,
    ReleaseInfo,
    SplitCount,
    row_model,
)
from scirgen.repeats.neardup import resolve as resolve_by_words
from scirgen.stages.release import rows as to_rows
from scirgen.stages.release.content import ReleaseContent
from scirgen.stages.release.describe.card import write_card
from scirgen.stages.release.describe.croissant import write_croissant
from scirgen.stages.release.parts import PartWritten
from scirgen.stages.release.passages import PassageIndex
from scirgen.stages.release.settle.duplicates import Benchmarks, Choose, Resolve, Settled, settle
from scirgen.stages.release.settle.grouping import Grouping, group, leakage, unit_of

_BASE_FORMAT = "jsonl"


@runtime_checkable
class ReleaseFormat(Protocol):
    """Writes a release in another shape. Registered by name; the name is also the folder it writes to."""

    def write(self, release: Release, folder: Path) -> None:
        """Write ``folder`` (which does not exist yet) from the release.

        The same release gives the same bytes: no clock times, no absolute paths. Rows are streamed, not collected.

        Raises:
            MissingExtraError: a library the format needs is not installed.
        """


@dataclass(frozen=True)
class ReleaseSettings:
    """The settings of a release.

    Attributes:
        wording: words of the release's language, for finding near-duplicate questions.
        registry: source of the formats; they are looked up before anything is written.
        ratios: shares of rows of train, dev and test.
        seed: orders the components; the same seed and content give the same bytes.
        formats: names of registered release formats; ``jsonl`` is always written.
        benchmarks: question sets whose questions must not be in the release.
        choose: chooses the rows that a target keeps; None: all.
        resolve: finds near-duplicates and decides about them.
    """

    wording: LanguageWording
    registry: Registry
    ratios: Sequence[float] = ReleaseConfig().ratios
    seed: int = 0
    formats: Sequence[str] = (_BASE_FORMAT,)
    benchmarks: Benchmarks | None = None
    choose: Choose | None = None
    resolve: Resolve = resolve_by_words


def write_release(content: ReleaseContent, folder: Path, settings: ReleaseSettings) -> tuple[Release, list[Rejection]]:
    """Write ``folder``, whose parent must exist; an earlier release stays until the new one is complete.

    Returns:
        The release, and the questions that were not released because they repeat another one or are in a benchmark.

    Raises:
        InputError: ``folder`` holds files that are not part of a release.
        PluginError: an unknown format.
        StoreError: the disk is full or not writable.
        RunStoppingError: the run ends; the earlier release stays.
    """
    folder = folder.absolute()
    refuse_foreign(folder)
    writers = {n: made for n in settings.formats if (made := format_writer(settings.registry, n)) is not None}
    making = folder.with_name(f".{folder.name}.making")
    try:
        if making.is_symlink():
            making.unlink()
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir(parents=True)
        settled = settle(content, settings.wording, settings.benchmarks, settings.choose, settings.resolve)
        counts = _write_base(settled, making, settings)
        if "preference" in writers:
            counts["unfaithful.jsonl"] = _write_lines(making / "unfaithful.jsonl", content.unfaithful())
        for name in sorted(writers):
            stop_here()
            try:
                writers[name].write(Release(making), making / name)
            except FileNotFoundError as error:
                place = settings.registry.place_of(error)
                hint = "Its folder is new: write() begins with folder.mkdir()."
                raise PluginError(f"release format {name!r}: {described(error, place)}", hint=hint) from error
        empty = [
            name for name in writers if not any(f.is_file() and f.stat().st_size for f in (making / name).rglob("*"))
        ]
        for name in empty:
            shutil.rmtree(making / name, ignore_errors=True)
            del writers[name]
        if empty:
            info = Release(making).info
            _write_info(making, info.model_copy(update={"notes": (*info.notes, *map(EMPTY.format, sorted(empty)))}))
        write_croissant(Release(making), counts)
        with (making / FILE).open("w", encoding="utf-8", newline="") as out:
            counts[FILE] = write_lines(out, (line for line in lines_of(Release(making)) if line.kind != "passage"))
        write_card(Release(making), sorted(writers))
        _list_files(making, counts)
        _swap(making, folder)
    except RunStoppingError:
        shutil.rmtree(making, ignore_errors=True)
        raise
    except OSError as error:
        shutil.rmtree(making, ignore_errors=True)
        raise StoreError(
            f"cannot write the release {folder}: {error}",
            hint="Free some disk space, or check the folder's permissions.",
        ) from error
    return Release(folder), settled.rejections


def refuse_foreign(folder: Path) -> None:
    """Check that a release may replace ``folder``: it is absent or empty, or its ``release.json`` lists all its files.

    Raises:
        InputError: scirgen did not write what is there.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError(f"{folder} is not a folder, so no release can be written there", hint=_MOVE_IT)
    found = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_symlink() or not p.is_dir()}
    found -= {"release.json", ".DS_Store"}
    if not found:
        return
    if not (folder / "release.json").is_file():
        raise InputError(f"{folder} has files but no release.json: it is not a release of scirgen", hint=_MOVE_IT)
    if foreign := sorted(found - {f.path for f in Release(folder).info.files}):
        others = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise InputError(f"{folder} contains {foreign[0]}{others}, which its release.json does not list", hint=_MOVE_IT)


EMPTY = "The format {} is not written: the release has nothing for it."
"""The note about a format that would hold no line."""


_MOVE_IT = "A release replaces the whole folder. Move what is there away, or choose another --out."


def format_writer(registry: Registry, name: str) -> ReleaseFormat | None:
    """Return the writer of a format; None for ``jsonl``, which every release has.

    Raises:
        PluginError: no such format, or it has no ``write``.
        MissingExtraError: its packages are not installed.
    """
    if name == _BASE_FORMAT:
        return None
    made = registry.get("release_format", name)
    writer = made() if isinstance(made, type) else made
    if not isinstance(writer, ReleaseFormat):
        raise PluginError(f"release format {name!r} has no write(release, folder)")
    return writer


def _write_base(settled: Settled, folder: Path, settings: ReleaseSettings) -> dict[str, int]:
    grouping = group(settled.content, settled.groups, settings.ratios, settings.seed)
    content = settled.content.with_closed_abstracts_cut()
    counts: dict[str, int] = {}

    def put(name: str, records: Iterable[BaseModel]) -> None:
        counts[name] = _write_lines(folder / name, records)

    put("corpus/papers.jsonl", to_rows.paper_rows(content))
    put("corpus/aspects.jsonl", to_rows.aspect_rows(content))
    put("corpus/without-paper.jsonl", to_rows.corpus_rows(content, with_paper=False))
    put("corpus/with-paper.jsonl", to_rows.corpus_rows(content, with_paper=True))
    index, licences = _write_passages(content, folder, counts)
    models, prompts = _write_rows(settled, folder, grouping, index, counts)
    split_of = {dataset_id: grouping.split_of[dataset_id] for dataset_id in content.datasets}
    parts = [
        returned(part.write, part.write(folder, content, split_of), PartWritten, "a PartWritten")
        for part in content.parts
    ]
    for part in parts:
        settled.rejections.extend(part.rejections)
        counts |= part.lines
    dropped = Counter(f"{r.stage}: {r.code}" for r in settled.rejections)
    used = len(users_of(content.uses))
    unsure, origins = 0, Counter[str]()
    for pair in content.pairs():
        unsure += pair.unsure
        origins[pair.asked] += 1
    info = content.info.model_copy(
        update={
            "splits": _split_counts(grouping),
            "split_rule": _split_rule(content, settings.ratios, grouping.asked_by),
            "counts": {
                "datasets": len(content.datasets),
                "datasets_with_papers": len(content.uses),
                "papers": len(content.papers),
                **({"papers_used": used} if used < len(content.papers) else {}),
                "aspects": len(content.aspects),
                "passages": counts["corpus/passages.jsonl"],
                "rows": sum(counts[f"{s}.jsonl"] for s in SPLITS),
                **({f"rows_{o}": origins[o] for o in ORIGINS if origins[o]} if set(origins) - {"known_item"} else {}),
                **{name: number for part in parts for name, number in part.counts.items()},
                **{name: n for name, n in content.info.counts.items() if name.startswith("links")},
                **({"unsure": unsure} if unsure else {}),
            },
            **{name: value for part in parts for name, value in part.info.items()},
            "left_out": dict(sorted({**content.info.left_out, **dropped}.items())),
            "leakage": tuple(leakage(settled.content, grouping)),
            "licences": dict(sorted(licences.items())),
            "models": tuple(sorted(models | {m.model for m in content.info.made})) or content.info.models,
            "prompts": tuple(sorted(prompts)) or content.info.prompts,
            "notes": (*content.info.notes, *grouping.notes),
        }
    )
    _write_info(folder, info)
    return counts


def _split_rule(content: ReleaseContent, ratios: Sequence[float], asked_by: str) -> str:
    if content.splits is not None:
        return "as published"
    shares = "/".join(f"{r:g}" for r in ratios)
    asked = f" (those that somebody asked: {asked_by})" if asked_by else ""
    return f"connected components over datasets, papers, texts and near-duplicate questions{asked}; {shares} by rows"


def _write_passages(content: ReleaseContent, folder: Path, counts: dict[str, int]) -> tuple[PassageIndex, Counter[str]]:
    evidence: dict[str, dict[tuple[int, int], Span]] = {}
    graded: set[str] = set()
    for pair in content.pairs():
        graded.update(grade.passage_id for grade in pair.grades)
        for span in pair.evidence:
            evidence.setdefault(span.document_id, {})[(span.start, span.end)] = span
    cited = {document_id: list(spans.values()) for document_id, spans in evidence.items()}
    of_papers = {k: v for k, v in cited.items() if k not in content.datasets}
    index = PassageIndex(cited, graded)
    licences: Counter[str] = Counter()
    with _lines(folder / "corpus/passages.jsonl") as out:
        for passages in to_rows.all_passages(content, of_papers, index):
            stop_here()
            write_rows(out, passages)
            licences.update(passage.licence for passage in passages)
    counts["corpus/passages.jsonl"] = licences.total()
    return index, licences


def _write_rows(
    settled: Settled, folder: Path, grouping: Grouping, index: PassageIndex, counts: dict[str, int]
) -> tuple[set[str], set[str]]:
    content = settled.content
    kind = row_model(content.info.row_fields)
    models: set[str] = set()
    prompts: set[str] = set()
    files = {s: _lines(folder / f"{s}.jsonl") for s in SPLITS}
    qrels = {s: _lines(folder / "qrels" / f"{s}.tsv") for s in SPLITS}
    graded = {s: _lines(folder / PASSAGE_QRELS / f"{s}.tsv") for s in SPLITS}
    for s in SPLITS:
        counts[f"{s}.jsonl"] = counts[f"qrels/{s}.tsv"] = counts[f"{PASSAGE_QRELS}/{s}.tsv"] = 0
        for file in (qrels[s], graded[s]):
            file.write("query-id\tcorpus-id\tscore\n")
    try:
        for pair in content.pairs():
            stop_here()
            unit = unit_of(pair)
            split, name = grouping.split_of[unit], grouping.group_of[unit]
            row = to_rows.release_row(
                pair,
                split,
                name,
                content.datasets,
                content.papers,
                content.document_papers,
                index,
                content.writers.get(pair.id),
            )
            gold = settled.positives.get(pair.id, ())
            if gold:
                row = row.model_copy(update={"dataset_ids": gold})
            if people := content.reviewed.checked.get(pair.id):
                row = row.model_copy(update={"checked": people, "history": content.reviewed.history.get(pair.id, ())})
            if content.info.row_fields:
                row = kind.model_validate({**dict(row), **content.added.get(pair.id, {})})
            write_rows(files[split], [row])
            for dataset_id in row.gold if row.answer or not row.passages else ():
                qrels[split].write(f"{row.id}\t{dataset_id}\t1\n")
                counts[f"qrels/{split}.tsv"] += 1
            for passage_id, grade in to_rows.passage_grades(pair, row, index).items():
                graded[split].write(f"{row.id}\t{passage_id}\t{grade}\n")
                counts[f"{PASSAGE_QRELS}/{split}.tsv"] += 1
            counts[f"{split}.jsonl"] += 1
            models.update([row.model] if row.model else [])
            prompts.update([row.prompt] if row.prompt else [])
    finally:
        for file in (*files.values(), *qrels.values(), *graded.values()):
            file.close()
    return models, prompts


def _split_counts(grouping: Grouping) -> dict[str, SplitCount]:
    table: dict[str, SplitCount] = {}
    for split in SPLITS:
        units = [u for u, s in grouping.split_of.items() if s == split and grouping.rows_of[u]]
        table[split] = SplitCount(
            rows=sum(grouping.rows_of[u] for u in units),
            datasets=len({d for u in units for d in grouping.datasets_of[u]}),
            groups=len({grouping.group_of[u] for u in units}),
        )
    return table


def _lines(path: Path) -> TextIO:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("w", encoding="utf-8", newline="\n")


def _write_lines(path: Path, records: Iterable[BaseModel]) -> int:
    number = 0
    with _lines(path) as out:
        for number, record in enumerate(records, 1):  # noqa: B007
            stop_here()
            write_rows(out, [record])
    return number


def _write_info(folder: Path, info: ReleaseInfo) -> None:
    (folder / "release.json").write_text(info.model_dump_json(indent=2) + "\n", encoding="utf-8")


def _list_files(folder: Path, counts: dict[str, int]) -> None:
    found = sorted(p for p in folder.rglob("*") if p.is_file() and p.name != "release.json")
    files = tuple(
        FileRow(
            path=p.relative_to(folder).as_posix(),
            sha256=file_sha256(p),
            bytes=p.stat().st_size,
            rows=counts.get(p.relative_to(folder).as_posix()),
        )
        for p in found
    )
    _write_info(folder, Release(folder).info.model_copy(update={"files": files}))


def _swap(making: Path, folder: Path) -> None:
    """Give the new release its name in one step, so that after a kill at any moment, a complete release has it."""
    sync_tree(making)
    if not folder.exists():
        making.replace(folder)
        sync_folder(folder.parent)
        return
    if exchange(making, folder):
        sync_folder(folder.parent)
        shutil.rmtree(making, ignore_errors=True)
        return
    before = folder.with_name(f".{folder.name}.before")  # this system has no such call, so it takes two steps
    shutil.rmtree(before, ignore_errors=True)
    folder.replace(before)
    making.replace(folder)
    sync_folder(folder.parent)
    shutil.rmtree(before, ignore_errors=True)
