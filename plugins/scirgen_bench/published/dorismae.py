"""DORIS-MAE (Wang et al., NeurIPS 2023 Datasets and Benchmarks) as a release with the task ``aspects``.

As in the authors' code, a document's grade for a query is the sum of its scores over the query's different aspects and
sub-aspects, and sub-queries join the sentences of two aspects whose sentences belong to no third.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from scirgen import InputError, Span
from scirgen.plugin import ReleaseContent, TaskInfo
from scirgen_bench.published.reading import HINT, damaged, imported, needed, number, whole
from scirgen_bench.tasks.records import Grade, Query
from scirgen_bench.tasks.release_tasks import TaskContent
from scirgen_bench.tasks.task_files import CITATIONS, AbstractRow, AbstractSentence

_FILES = ("DORIS-MAE_dataset_v1.json", "DORIS_MAE_dataset_v1.json")
_TEST = frozenset((1, 8, 10, 16, 23, 28, 33, 37, 44, 46, *range(50, 100)))
"""The 60 test queries of the authors' evaluation."""
_MODEL = "model:gpt-3.5-turbo-0301"
_ASPECTS_OF_SUB_QUERY = 2


def dorismae(src: Path) -> ReleaseContent:
    """Read ``DORIS-MAE_dataset_v1.json``: queries, aspects, candidate pools, and the model's and people's scores.

    The official test queries are in the split test, the other 40 in dev. Only abstracts of candidate pools are kept.

    Raises:
        InputError: the file is missing or damaged, or a query names an unknown aspect or abstract.
    """
    path = needed(src, *_FILES)
    data = whole(path)
    if missing := [k for k in ("Query", "Corpus", "Annotation", "aspect_id2aspect") if k not in data]:
        raise InputError(f"{path}: missing {', '.join(missing)}", hint=HINT)
    scores: Counter[tuple[str, int]] = Counter()
    with damaged(f"{path}, Annotation"):
        for row in data["Annotation"]:
            scores[str(row["aspect_id"]), int(row["abstract_id"])] += max(0, number(row["score"], str(path)))
    people, unread = _people(data)
    queries: list[Query] = []
    splits: dict[str, str] = {}
    qrels: dict[str, dict[str, int]] = {}
    grades: list[Grade] = []
    wanted: dict[int, str] = {}
    for index, row in enumerate(data["Query"]):
        with damaged(f"{path}, query {index}"):
            made = list(_queries(f"q_{index}", row, data["aspect_id2aspect"]))
            pool = {int(d): str(data["Corpus"][int(d)]["original_abstract"]) for d in row["candidate_pool"]}
        wanted |= pool
        queries += (query for query, _ in made)
        splits |= dict.fromkeys((query.id for query, _ in made), "test" if index in _TEST else "dev")
        for query, aspects in made:
            if query.form in ("complex", "sub_query"):
                qrels[query.id] = {f"c_{d}": sum(scores[a, d] for a in aspects) for d in pool}
        requirement = {a[0]: query.id for query, a in reversed(made) if query.form in ("aspect", "sub_aspect")}
        for aspect, name in requirement.items():
            for d in pool:
                found = {_MODEL: scores[aspect, d]} if (aspect, d) in scores else {}
                for judge, grade in (found | people.pop((aspect, d), {})).items():
                    grades.append(Grade(query_id=name, document_id=f"c_{d}", judge=judge, grade=grade))
    notes = [f"{len(people)} pairs graded by people belong to no query's pool and are left out."] if people else []
    notes += [f"{unread} entries of the test set have no grades of people that can be read."] if unread else []
    task = TaskContent(
        name="aspects",
        info=TaskInfo(recipe="aspects", follows=CITATIONS["aspects"], corpus="abstracts", profile="doris"),
        queries=queries,
        splits=splits,
        qrels=qrels,
        grades=grades,
    )
    corpus = (
        AbstractRow(id=f"c_{d}", sentences=(AbstractSentence(text=text),), licence="CC-BY-NC-4.0")
        for d, text in wanted.items()
    )
    return imported("DORIS-MAE", "cs", notes, task, corpus)


def _queries(own: str, row: Mapping[str, Any], texts: Mapping[str, str]) -> Iterator[tuple[Query, tuple[str, ...]]]:
    """Yield a query, its aspects, their sub-aspects and its sub-queries, each with the ids of the aspects it asks
    for."""
    text, parts = str(row["query_text"]), {str(a): tuple(map(str, subs)) for a, subs in row["aspects"].items()}
    sentences = {str(a): [str(s) for s in found] for a, found in row["aspect_id2sent"].items()}

    def asked(aspects: Sequence[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(a for aspect in aspects for a in (aspect, *parts[aspect])))

    def part(name: str, form: Any, aspect: str, parent: str) -> tuple[Query, tuple[str, ...]]:
        places = [(text.find(s), s) for s in sentences.get(aspect, ())]
        spans = tuple(Span(document_id=own, start=at, end=at + len(s), text=s) for at, s in places if at >= 0)
        query = Query(id=name, recipe="aspects", form=form, text=str(texts[aspect]), parent=parent, spans=spans)
        return query, (aspect,)

    whole_query = Query(
        id=own, recipe="aspects", form="complex", text=text, parts=tuple(f"{own}/{a}" for a in parts)
    )  # fmt: skip
    yield whole_query, asked(tuple(parts))
    for aspect, subs in parts.items():
        yield part(f"{own}/{aspect}", "aspect", aspect, own)
        for sub in subs:
            yield part(f"{own}/{aspect}/{sub}", "sub_aspect", sub, f"{own}/{aspect}")
    stands_for = {str(s): set(map(str, found)) for s, found in row["sent2aspect_id"].items()}
    for pair in combinations(parts, _ASPECTS_OF_SUB_QUERY):
        joined = tuple(dict.fromkeys(s for aspect in pair for s in sentences[aspect]))
        if len(set().union(*(stands_for.get(s, set()) for s in joined))) > _ASPECTS_OF_SUB_QUERY:
            continue
        query = Query(
            id=f"{own}/{'+'.join(pair)}", recipe="aspects", form="sub_query", text=" ".join(joined), parent=own,
            parts=tuple(f"{own}/{a}" for a in pair),
        )  # fmt: skip
        yield query, asked(pair)


def _people(data: Mapping[str, Any]) -> tuple[dict[tuple[str, int], dict[str, int]], int]:
    """Return the pairs of the annotation test (Appendix A.4), ``Test Set`` or ``Test_set``, with each person's grade,
    and the number of entries without one. A grade is a whole number of 0 to 2 in any field, list or object of the
    entry."""
    found: dict[tuple[str, int], dict[str, int]] = {}
    unread = 0
    named = (of for key, of in data.items() if "".join(filter(str.isalpha, key)).lower() == "testset")
    for entry in (entry for of in named for entry in (of.values() if isinstance(of, dict) else of)):
        keyed = entry if isinstance(entry, dict) and {"aspect_id", "abstract_id"} <= set(entry) else {}
        rest = {name: value for name, value in keyed.items() if name not in ("aspect_id", "abstract_id")}
        grades = {f"human:{name}": grade for name, grade in _grades(rest.get("human_annotation", rest), "")}
        if grades:
            found.setdefault((str(entry["aspect_id"]), int(entry["abstract_id"])), {}).update(grades)
        unread += not grades
    return found, unread


def _grades(value: object, name: str) -> Iterator[tuple[str, int]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _grades(inner, str(key))
    elif isinstance(value, list):
        for place, inner in enumerate(value, 1):
            yield from _grades(inner, f"{name}{place}")
    elif type(value) is int and 0 <= value <= 2:
        yield name, value
