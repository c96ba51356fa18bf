"""DataFinder, CSFCube and DORIS-MAE imported from the command line: their published figures, to the last digit."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from scirgen.cli.main import cli
from tests.support.published_files import as_published

DATA = Path(os.environ.get("SCIRGEN_REALDATA", Path(__file__).parents[3] / ".." / "shared" / "data")) / "recipes"

pytestmark = [
    pytest.mark.realdata,
    pytest.mark.skipif(not DATA.is_dir(), reason=f"REAL DATA MISSING: {DATA} (set SCIRGEN_REALDATA)"),
]


def scirgen(*arguments: object) -> str:
    result = CliRunner().invoke(cli, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def imported(name: str, folder: Path) -> Path:
    scirgen("import", name, as_published(name, DATA / name, folder / "files"), folder / name)
    return folder / name


def expected(name: str) -> dict:
    return json.loads((DATA / name / "expected.json").read_text())["this_half"]


def measured(release: Path, task: str, split: str, out: Path, *arguments: object) -> list[dict]:
    file = out / "figures.json"
    scirgen("benchmark", "retrieval", release, "--task", task, "--split", split, "--json", file, "--quiet", *arguments)
    return json.loads(file.read_text())["rows"]


def run_files(name: str, files: list[str], folder: Path) -> list[Path]:
    lines: dict[str, list[str]] = {}
    for file in files:
        with gzip.open(DATA / name / file, "rt", encoding="utf-8") as rows:
            for row in map(json.loads, rows):
                system = "-".join(row[k] for k in ("system", "abstract", "query_mode") if k in row)
                for rank, hit in enumerate(row["ranking"], 1):
                    document = hit if isinstance(hit, str) else hit[0]
                    lines.setdefault(system, []).append(f"{row['query']} Q0 {document} {rank} {-rank} x\n")
    for system, rows_ in lines.items():
        (folder / f"{system}.run").write_text("".join(rows_))
    return [folder / f"{system}.run" for system in lines]


def test_csfcubes_figures_come_out_to_every_digit(tmp_path):
    release = imported("csfcube", tmp_path)
    runs = run_files("csfcube", [f"rankings{x}.jsonl.gz" for x in ("", "_thirdparty", "_local")], tmp_path)
    assert len(runs) == 11
    given = ",".join(f"run:{r}" for r in runs)
    figures = 0
    for row in measured(release, "facets", "dev", tmp_path, "--profile", "csfcube", "--retrievers", given):
        wanted = expected("csfcube")["systems"][Path(row["retriever"]).stem][row["group"]]
        assert {m: round(row["metrics"][m], 6) for m in wanted} == wanted, row["retriever"]
        figures += len(wanted)
    assert figures == 440
    with gzip.open(DATA / "csfcube" / "rankings.jsonl.gz", "rt", encoding="utf-8") as lines:
        hits = {row["query"]: row["ranking"] for row in map(json.loads, lines)}
    for facet in ("background", "method", "result"):  # as the repository has them, a file a facet
        found = {q.partition("_")[0]: ranking for q, ranking in hits.items() if q.endswith(facet)}
        (tmp_path / f"test-pid2pool-csfcube-specter-{facet}-ranked.json").write_text(json.dumps(found))
    given = f"run:{tmp_path}/*-ranked.json"
    for row in measured(release, "facets", "dev", tmp_path, "--profile", "csfcube", "--retrievers", given):
        wanted = expected("csfcube")["systems"]["specter"][row["group"]]
        assert {m: round(row["metrics"][m], 6) for m in wanted} == wanted


@pytest.mark.parametrize(("text", "system"), [("facet", "bm25_facet"), ("abstract", "bm25_abstract")])
def test_our_own_bm25_ranks_csfcubes_pools_as_the_committed_ranking(tmp_path, text, system):
    release = imported("csfcube", tmp_path)
    given = ("--retrievers", "bm25:norms=byte", "--query-text", text)
    for row in measured(release, "facets", "dev", tmp_path, *given):
        wanted = expected("csfcube")["systems"][system][row["group"]]
        assert {m: round(row["metrics"][m], 6) for m in wanted} == wanted, row["group"]


def test_dorismaes_metrics_have_no_difference_from_the_official_code(tmp_path):
    release = imported("dorismae", tmp_path)
    runs = run_files("dorismae", ["rankings.jsonl.gz"], tmp_path)
    given = ",".join(f"run:{r}" for r in runs)
    wanted = {s.replace("/", "-"): v for s, v in expected("dorismae")["systems"].items()}
    rows = measured(release, "aspects", "dev", tmp_path, "--profile", "doris", "--retrievers", given)
    got = {Path(r["retriever"]).stem: {m: round(100 * v, 4) for m, v in r["metrics"].items()} for r in rows}
    assert got == wanted
    assert sum(map(len, got.values())) == 119


def test_dorismaes_aspects_and_sub_aspects_are_counted(tmp_path):
    """Sub-queries are not: which sentences an aspect stands for is not in this half."""
    from scirgen.release_files.release import Release
    from scirgen_bench.tasks.task_files import Task, requirements

    queries = [q for q in Task(Release(imported("dorismae", tmp_path)), "aspects").queries() if q.text]
    wanted = expected("dorismae")["counts"]
    forms = [q.form for q in queries]
    assert forms.count("complex") == wanted["queries"]
    assert forms.count("aspect") == wanted["aspects"]
    assert forms.count("sub_aspect") == wanted["sub_aspects"]
    needed = requirements(q for q in queries if q.form != "sub_query")
    assert sum(map(len, needed.values())) == wanted["distinct"]


@pytest.mark.parametrize(
    ("form", "cut", "row"),
    [
        ("sentence", "datafinder", "bm25_sentence"),
        ("sentence", "datafinder:5", "bm25_sentence_limit5"),
        ("sentence", "5", "bm25_sentence_clean"),
        ("keyphrases", "datafinder", "bm25_keyphrase"),
    ],
)
def test_datafinders_bm25_comes_out_to_every_digit(tmp_path, form, cut, row):
    release = imported("datafinder", tmp_path)
    given = ("--retrievers", "bm25:k1=0.8,b=0.4,norms=byte", "--form", form, "--cut", cut, "--not-after-query")
    (found,) = measured(release, "recommend", "test", tmp_path, "--profile", "trec", *given)
    wanted = expected("datafinder")[row]
    assert {m: round(100 * found["metrics"][m], 4) for m in wanted} == wanted


def test_bm25_scores_are_those_of_lucenes_index(tmp_path):
    """7,840 scores of the committed Lucene hits, to a millionth of the score."""
    from scirgen_bench.lexical import BM25

    with gzip.open(DATA / "datafinder" / "documents.jsonl.gz", "rt", encoding="utf-8") as rows:
        documents = [json.loads(line)["text"] for line in rows]
    topics = {t["key"]: t for t in map(json.loads, (DATA / "datafinder" / "topics.jsonl").read_text().splitlines())}
    hits: dict[tuple[str, str], dict[int, float]] = {}
    with gzip.open(DATA / "datafinder" / "hits.tsv.gz", "rt", encoding="utf-8") as lines:
        for line in list(lines)[1:]:
            topic, query, _, number, _, score, _ = line.rstrip("\n").split("\t")
            hits.setdefault((topic, query), {})[int(number)] = float(score)
    model = BM25(0.8, 0.4, norms="byte")
    model.index(documents)
    texts = [topics[t]["text" if kind == "sentence" else "keyphrases"] for t, kind in hits]
    found = model.search(texts, len(documents))
    worst = 0.0
    for (_, wanted), positions, scores in zip(hits.items(), found.documents, found.scores, strict=True):
        ours = dict(zip(positions.tolist(), scores.tolist(), strict=True))
        worst = max([worst, *(abs(ours[d] - s) / s for d, s in wanted.items())])
    assert sum(map(len, hits.values())) == 7840
    assert worst < 1e-6


def test_csfcubes_agreement_comes_out_before_and_after_adjudication(tmp_path):
    from scirgen.release_files.release import Release
    from scirgen_bench.tasks.task_files import Task
    from scirgen_label.judge_agreement import judge_agreement

    task = Task(Release(imported("csfcube", tmp_path)), "facets")
    rows = judge_agreement(task.grades(), task.queries())
    assert [r.group for r in rows] == ["background", "method", "result", "all"]
    for row in rows:
        wanted = expected("csfcube")["agreement_gaps_dropped"][row.group]
        assert {s: round(v, 6) for s, v in row.before.items()} == wanted["before"]
        assert {s: round(v, 6) for s, v in row.after.items()} == wanted["after"]
        assert round(row.exact_pooled, 6) == wanted["exact_pooled_before"]
        assert round(row.overruled, 6) == wanted["overruled_mean"]


def test_triples_have_the_hard_negatives_of_the_published_rule(tmp_path):
    files = as_published("datafinder", DATA / "datafinder", tmp_path / "files")
    scirgen("import", "datafinder", files, tmp_path / "df", "--formats", "triples")
    with gzip.open(DATA / "datafinder" / "triples_example.jsonl.gz", "rt", encoding="utf-8") as lines:
        wanted = {r["query"]: [n.replace(" ", "_") for n in r["negatives"]] for r in map(json.loads, lines)}
    rows = [json.loads(x) for x in (tmp_path / "df" / "triples" / "recommend.test.jsonl").read_text().split("\n")[:-1]]
    found = {r["query"]: r["negatives"] for r in rows if r["form"] == "sentence"}
    assert found == wanted


def test_keyphrases_follow_datafinders_rule():
    """All but one of the topics, with the stop words of its script."""
    from scirgen_tasks.recipes.recommend import keyphrases

    facts = json.loads((DATA / "datafinder" / "facts.json").read_text())["query_from_abstract"]["keyphrase_query"]
    topics = [json.loads(x) for x in (DATA / "datafinder" / "topics.jsonl").read_text().splitlines()]
    fields = facts["fields_in_order"]
    same = [
        keyphrases([t["fields"][f] for f in fields], facts["stopwords_used_here"]) == t["keyphrases"] for t in topics
    ]
    assert (sum(same), len(same)) == (195, 196)


def tokens(text: str) -> str:
    """The text's words and signs, each between blanks, so that a name is found as whole tokens."""
    return " ".join(["", *re.findall(r"\w+|[^\w\s]", text), ""])


def test_the_tagging_rule_gives_its_figures_on_the_labelled_papers():
    """Names alone, without the citation that the rule also wants: what the citation is for."""
    from scirgen_tasks.datafinder import counted

    names: dict[str, set[str]] = {}
    with gzip.open(DATA / "datafinder" / "aliases.tsv.gz", "rt", encoding="utf-8") as lines:
        for line in list(lines)[1:]:
            dataset, alias = line.rstrip("\n").split("\t")
            names.setdefault(dataset, {tokens(dataset)}).add(tokens(alias))
    with gzip.open(DATA / "datafinder" / "tagger_papers.jsonl.gz", "rt", encoding="utf-8") as lines:
        papers = [json.loads(line) for line in lines]
    sentences_of: list[Counter[str]] = []
    for paper in papers:
        read = [tokens(s) for s in counted(((x["title"], x["sentences"]) for x in paper["sections"]), str)]
        whole = "".join(read)
        near = {d: found for d, found in names.items() if any(n in whole for n in found if n.strip())}
        sentences_of.append(Counter(d for s in read for d, found in near.items() if any(n in s for n in found)))
    for least in (1, 2):
        right = wrong = missed = 0
        for paper, sentences in zip(papers, sentences_of, strict=True):
            found = {d.replace(" ", "_") for d, n in sentences.items() if n >= least}
            gold = {d.replace(" ", "_") for d in paper["gold"]}
            right, wrong, missed = right + len(found & gold), wrong + len(found - gold), missed + len(gold - found)
        wanted = expected("datafinder")[f"tagger_mentions_{least}"]
        assert (right, wrong, missed) == (wanted["tp"], wanted["fp"], wanted["fn"])
