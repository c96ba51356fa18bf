"""Pools and grades a task: opens the judges one after another, grades, resolves disagreements, and writes a folder of
grades."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from scirgen import Config, InputError
from scirgen.plugin import PromptLibrary, Registry, Resources, Taxonomies, grouped, open_sessions
from scirgen_bench.retriever import complete_specs
from scirgen_bench.rowfiles import write_file
from scirgen_bench.tasks.judging import Asked, Graded, Judging, differ, to_grade
from scirgen_bench.tasks.pools import GOLD, PoolSettings, make_pool, pooled_queries, queries_to_grade
from scirgen_bench.tasks.records import Grade
from scirgen_bench.tasks.task_files import PoolInfo, Task, TaskQuery, added_up, requirements, settled
from scirgen_bench.tasks.taxonomies import facets_of


@dataclass(frozen=True)
class PoolResult:
    """The result of pooling a task.

    Attributes:
        queries: the queries that were pooled.
        graded: all grades, and the pairs that could not be graded.
        open: number of pairs on which judges differ and that are not settled.
        info: the judges with their prompts, and which judges are unvalidated.
    """

    queries: list[TaskQuery]
    graded: Graded
    open: int
    info: PoolInfo


async def run_task_pool(
    task: Task,
    judges: Sequence[str],
    settings: PoolSettings,
    registry: Registry,
    out: Path,
    *,
    adjudicator: str | None = None,
    only: Collection[tuple[str, str]] | None = None,
    validated: Collection[str] = (),
    dry_run: bool = False,
    started: Callable[[int, dict[str, int], int], None] = lambda queries, calls, tokens: None,
    progress: Callable[[int], None] = lambda done: None,
) -> PoolResult:
    """Pool a task's queries and grade them; replies are kept in ``out/replies.db``, so a second run asks only about
    new pairs.

    Args:
        task: of an opened release.
        judges: model URIs; each grades every pair.
        settings: how the pool is made.
        registry: where retrievers and models are looked up.
        out: folder that gets ``grades.jsonl``, ``qrels.tsv``, ``pool.json``, ``failed.tsv`` and the replies.
        adjudicator: a model that settles facet pairs on which judges differ; None: a person must settle them.
        only: the (query, document) pairs of the pool that are graded; None: all.
        validated: identities of judges that have passed the labels test (`PoolInfo.identity`).
        dry_run: count the calls, ask nothing and write nothing.
        started: gets the number of queries, the calls by form and the tokens of all prompts before anything is asked.
        progress: called with the current judge's number of grades so far.

    Raises:
        InputError: there is nothing to pool, the corpus is missing, or none of the pairs in ``only`` is in the pool.
        ConfigError: an unknown model; PluginError: an unknown retriever.
    """
    queries = pooled_queries(task, settings)
    named = complete_specs(settings.pool_with).values()
    pool = make_pool(task, queries, PoolSettings(**{**settings.__dict__, "pool_with": tuple(named)}), registry)
    everything = queries_to_grade(task, settings)
    asked = to_grade(everything, queries, pool)
    if only is not None:
        asked = [a for a in asked if (a.query.id, a.document) in only]
        if not asked:
            raise InputError(
                "none of the sampled pairs is in this pool",
                hint="Use the release, --task, --split, --pool-with, --depth and --limit that the sample was "
                "drawn with.",
            )
    resources = Resources()
    prompts, taxonomies = PromptLibrary(resources), Taxonomies(resources)
    judging = Judging(task, prompts, facets_of(taxonomies), settings.setting, seed=settings.seed, progress=progress)
    calls = {form: len(judges) * number for form, number in Counter[str](a.query.form for a in asked).items()}
    started(len(queries), calls, judging.prompt_tokens(asked) * len(judges))
    if dry_run:
        return PoolResult(queries, Graded(), 0, _info(task, settings, Graded(), {}, ()))
    await asyncio.to_thread(out.mkdir, parents=True, exist_ok=True)
    graded = Graded()

    async def with_judge(uri: str, settle: bool) -> None:
        config = Config.model_validate({"models": {"generator": uri}})
        replies = out / "replies.db"
        async with await open_sessions(config, registry, replies, prompts=prompts, needs_scores=False) as sessions:
            name = f"model:{sessions.chat.identity}"
            if settle:
                found = await judging.settle(asked, graded.grades, name, sessions.chat)
            else:
                found = await judging.judge(asked, name, sessions.chat)
        graded.grades += found.grades
        graded.failed += found.failed

    for uri in judges:
        await with_judge(uri, settle=False)
    if adjudicator:
        await with_judge(adjudicator, settle=True)
    facets = (f"facets#{taxonomies.hash('facets')[:12]}",) if task.info.corpus == "abstracts" else ()
    read = {judge: (*sorted(found), *facets) for judge, found in judging.prompts_read.items()}
    info = _info(task, settings, graded, read, validated)
    _write(out, info, everything, queries, graded)
    return PoolResult(queries, graded, _open(asked, graded.grades), info)


def gold_seen(grades: Sequence[Grade]) -> dict[str, float]:
    """Return the mean grade of gold and of other documents, by judge and kind: it shows whether a judge recognises the
    gold."""
    groups = grouped((f"{g.judge}, {'gold' if GOLD in g.found_by else 'other'}", g.grade) for g in grades)
    return {name: sum(found) / len(found) for name, found in sorted(groups.items())}


def _open(asked: Sequence[Asked], grades: Sequence[Grade]) -> int:
    by = grouped(((g.query_id, g.document_id), g) for g in grades)
    return sum(differ(by.get((a.query.id, a.document), ())) for a in asked)


def _info(
    task: Task, settings: PoolSettings, graded: Graded, read: dict[str, tuple[str, ...]], validated: Collection[str]
) -> PoolInfo:
    judges = tuple(sorted({g.judge for g in graded.grades}))
    info = PoolInfo(
        release=task.release.info.name,
        task=task.name,
        split=settings.split,
        judges=judges,
        prompts=read,
        pool_with=settings.pool_with,
        depth=settings.depth,
        pairs=len({(g.query_id, g.document_id) for g in graded.grades}),
        failed=len(graded.failed),
    )
    return info.model_copy(update={"unvalidated": tuple(j for j in judges if info.identity(j) not in validated)})


def _write(
    out: Path, info: PoolInfo, everything: Sequence[TaskQuery], queries: Sequence[TaskQuery], graded: Graded
) -> None:
    ordered = sorted(graded.grades, key=lambda g: (g.query_id, g.document_id, g.judge))
    write_file(out / "grades.jsonl", (g.model_dump(mode="json", exclude_defaults=True) for g in ordered))
    (out / "pool.json").write_text(info.model_dump_json(indent=2) + "\n", encoding="utf-8")
    grades = settled(ordered)
    needed = requirements(everything)
    ids = {q.id for q in queries}
    final = added_up(needed, grades) if needed else {q: found for q, found in grades.items() if q in ids}
    rows = "".join(f"{q}\t{d}\t{g}\n" for q, found in sorted(final.items()) for d, g in found.items())
    (out / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + rows, encoding="utf-8")
    failed = "".join("\t".join(" ".join(cell.split()) for cell in f) + "\n" for f in graded.failed)
    (out / "failed.tsv").write_text("query\tdocument\tjudge\twhy\n" + failed, encoding="utf-8")
