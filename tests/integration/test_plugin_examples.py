"""The plugins of docs/plugins.md, installed and run: one of each kind (``examples/plugins``)."""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from pydantic import Field

import scirgen
from scirgen import ModelURI
from scirgen.api import resolve_config, run_pipeline
from scirgen.cli.main import cli
from scirgen.core.config import load_config
from scirgen.core.errors import ConfigError
from scirgen.core.registry import CONTRACTS, Registry, load_registry, shape_problems
from scirgen.pipeline.observer import Observer
from scirgen.pipeline.plan import plan
from scirgen.pipeline.store import StoredResult
from scirgen.stages.collect.open import open_source
from scirgen.stages.release.parts import added_values, row_fields
from scirgen_bench.retriever import Retriever, make_retriever
from tests.support.small_runs import release_bytes

EXAMPLES = Path(__file__).parents[2] / "examples" / "plugins"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    """The example package as pip would install it: on the path, with its entry point."""
    info = tmp_path / "site" / "scirgen_examples-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: scirgen-examples\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[scirgen.plugins]\nscirgen-examples = scirgen_examples:PLUGIN\n")
    for folder in (EXAMPLES, info.parent):
        monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", f"{EXAMPLES}:{info.parent}:" + ":".join(sys.path))
    importlib.metadata.MetadataPathFinder().invalidate_caches()
    load_registry.cache_clear()
    yield load_registry()
    load_registry.cache_clear()


def write_stations(folder: Path) -> Path:
    folder.mkdir()
    (folder / "stations.csv").write_text(
        "number,place,height,first_year\n7,Corviglia,2489,1981\n12,Piz Nair,3022,1994\n"
    )
    (folder / "papers").mkdir()
    (folder / "notes").mkdir()
    (folder / "notes" / "station-7.note").write_text(
        "Winter at Corviglia\nMETHODS\nThe sensor of station-7 was read every 10 minutes at a height of 2 m.\n"
    )
    return folder


async def test_examples_of_all_kinds_make_a_release_together(installed: Registry, tmp_path: Path) -> None:
    records = write_stations(tmp_path / "in")
    flags = {
        "input": str(records),
        "engine": "counting",
        "models.generator": "echo:any",
        "models.scorer": "letters:any",
        "collect.source": "stations",
        "collect.papers_from": ["notes"],
        "collect.paper_options": {"notes": {"folder": str(records / "notes")}},
        "parse.parser": "notes",
        "match.strategy": "by-id",
        "generate.strategy": "readings",
        "generate.types": ["quantification"],
        "generate.pairs_per_type": 3,
        "filter.gates": ["schema", "not_verbatim", "shouting"],
        "filter.faithfulness": ["overlap", "shift"],
        "filter.thresholds": {"shift": {"*": -100.0}},  # the scorer is asked, and decides nothing
        "steps": ["first_words"],
        "query.recipes": ["titles"],
        "word_counts.most": 2,
        "release.formats": ["csv", "parquet", "squad", "beir"],
    }
    loaded, domain = resolve_config(domain="stations", flags=flags)
    run = await run_pipeline(tmp_path / "run", loaded.config, domain, observer=Observer())
    assert run.outcome is not None and run.outcome.status in ("success", "partial")
    rows = (run.release / "csv" / "questions.csv").read_text().splitlines()
    assert rows[0] == "split,id,question,answer" and len(rows) > 1
    assert any("10 minutes" in r for r in rows)
    (query,) = map(json.loads, (run.release / "tasks" / "titles" / "queries.jsonl").read_text().splitlines()[:1])
    assert query["gold"]
    added_everywhere(run.release)
    card = (run.release / "README.md").read_text()
    assert "The step tag was replaced by first_words (plugin scirgen-examples)." in card
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["models"] == {"generator": "echo:any@1", "scorer": "letters:any@1"}


def test_domain_reads_with_its_own_source_or_says_why_not(
    installed: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = write_stations(tmp_path / "in")

    def opened(**flags: object) -> str:
        loaded, domain = resolve_config(domain="stations", flags={"input": str(records), **flags})
        return open_source(loaded.config, installed, domain, tmp_path / "run").name

    assert opened() == "stations"
    made = installed.get("source", "stations")(scirgen.SourceSetup(input=records))
    assert isinstance(made.dataset({"number": "7", "height": "2489"}, "row 1"), scirgen.Rejection)
    assert opened(**{"collect.source": "local"}) == "local"
    monkeypatch.delattr(installed.get("source", "stations"), "claims")
    with pytest.raises(ConfigError, match="the domain has its own source 'stations'") as caught:
        opened()
    assert "Set collect.source to stations" in caught.value.hint
    assert opened(**{"collect.source": "stations"}) == "stations"


def added_everywhere(folder: Path) -> None:
    """The field of the example is typed, and in card, schema, Croissant (single values only) and exports."""
    import pyarrow.parquet as pq

    release = scirgen.Release(folder)
    (row, *_) = list(release.rows())
    words = row.added()["frequent_words"]
    assert isinstance(words, list) and len(words) == 2 and row.frequent_words == tuple(words)
    assert release.info.row_fields[0].feature == {"list": "string"}
    card = (folder / "README.md").read_text()
    assert "| `frequent_words` | word_counts | frequent words of the dataset's record |" in card
    assert "- name: frequent_words" in card
    table = pq.read_table(folder / "parquet" / f"{row.split}.parquet").to_pylist()
    assert table[0]["frequent_words"] == words
    article = json.loads((folder / "squad" / f"{row.split}.json").read_text())["data"][0]
    assert article["paragraphs"][0]["qas"][0]["frequent_words"]
    query = (folder / "beir" / "without-paper" / "queries.jsonl").read_text().splitlines()[0]
    assert json.loads(query)["metadata"]["frequent_words"] == words


class Doubled(scirgen.Record):
    question: str = ""


class Odd(scirgen.Record):
    when: dict[str, str] = Field(default={})


def fields_of(kind: type[scirgen.Record], returns: object = None) -> type[scirgen.RowFields]:
    made = {"name": "word_counts", "fields": kind, "values": lambda self, run, ctx: returns}
    return type("Made", (scirgen.RowFields,), made)


@pytest.mark.parametrize(
    ("kind", "says"),
    [(Doubled, "the field 'question' already belongs to scirgen"), (Odd, "no Hugging Face feature")],
)
def test_fields_that_no_row_can_have_are_refused(
    installed: Registry, monkeypatch: pytest.MonkeyPatch, kind: type[scirgen.Record], says: str
) -> None:
    import scirgen_examples.word_counts as module

    monkeypatch.setattr(module, "FrequentWords", fields_of(kind))
    config = load_config(flags={"word_counts.most": 2}).config
    with pytest.raises(scirgen.ConfigError) as caught:
        row_fields(config, installed)
    assert says in caught.value.message and "word_counts" in caught.value.message


@pytest.mark.parametrize("returns", [["a"], {"pair": {"question": "x"}}])
def test_values_of_another_form_are_an_error_with_member_and_line(returns: object) -> None:
    made = fields_of(Doubled, returns)()
    with pytest.raises(scirgen.ConfigError, match=r"<lambda>\(\) \(.*test_plugin_examples.py, line \d+\) returned"):
        added_values([made], None, None)  # type: ignore[arg-type]


async def test_a_plugin_s_step_resumes_and_shows_its_records_everywhere(installed: Registry, tmp_path: Path) -> None:
    records, folder = write_stations(tmp_path / "in"), tmp_path / "run"

    async def run(**more: object) -> list[str]:
        flags = {
            "input": str(records),
            "models.generator": "echo:any",
            "models.scorer": "letters:any",
            "collect.source": "stations",
            "generate.off": True,
            **more,
        }
        loaded, domain = resolve_config(domain="stations", flags=flags)
        done = Done()
        made = await run_pipeline(folder, loaded.config, domain, observer=done)
        assert made.outcome is not None and made.outcome.status == "success"
        return done.executed

    assert "word_counts" not in await run()
    assert (await run(**{"word_counts.most": 3})).count("word_counts") == 2
    assert "word_counts" not in await run(**{"word_counts.most": 3})
    assert (await run(**{"word_counts.most": 4})).count("word_counts") == 2
    from scirgen_examples.word_counts import WordCounts

    found = next(scirgen.Run(folder).records("word_counts", WordCounts))
    assert scirgen.inspect(folder, found.id) == [found]
    assert scirgen.Run(folder).funnel()["word_counts"]["outputs"] == 2
    for command in (["words", str(folder)], ["status", str(folder)]):
        result = CliRunner().invoke(cli, command)
        assert result.exit_code == 0, result.output
    assert "word_counts" in result.output


KILLED = """
import asyncio, json, os, signal, sys
from pathlib import Path
from scirgen.api import resolve_config, run_pipeline
from scirgen.pipeline.observer import Observer
from scirgen_examples.word_counts import WordCountStage
process, done = WordCountStage.process, []
async def killed(self, item, ctx):
    if done:
        os.kill(os.getpid(), signal.SIGKILL)
    done.append(item.key)
    return await process(self, item, ctx)
WordCountStage.process = killed
loaded, domain = resolve_config(domain="stations", flags=json.loads(sys.argv[2]))
asyncio.run(run_pipeline(Path(sys.argv[1]), loaded.config, domain, observer=Observer()))
"""


async def test_a_run_killed_in_a_plugin_s_step_ends_with_the_same_release(installed: Registry, tmp_path: Path) -> None:
    flags = {
        "input": str(write_stations(tmp_path / "in")),
        "models.generator": "echo:any",
        "models.scorer": "letters:any",
        "collect.source": "stations",
        "generate.mix": {"known_item": 1},  # echo cannot write questions
        "generate.strategy": "readings",
        "generate.types": ["quantification"],
        "filter.gates": ["schema"],
        "filter.faithfulness": ["overlap"],
        "word_counts.most": 3,
        "steps": ["first_words"],
    }
    killed = [sys.executable, "-c", KILLED, str(tmp_path / "killed"), json.dumps(flags)]
    process = await asyncio.create_subprocess_exec(*killed)
    assert await process.wait() == -signal.SIGKILL
    assert not (tmp_path / "killed" / "release").exists()
    for name in ("killed", "whole"):
        done = Done()
        loaded, domain = resolve_config(domain="stations", flags=flags)
        run = await run_pipeline(tmp_path / name, loaded.config, domain, observer=done)
        assert run.outcome is not None and run.outcome.status == "success"
        assert done.executed.count("word_counts") in (1, 2)  # the store commits several results together
    assert release_bytes(tmp_path / "killed") == release_bytes(tmp_path / "whole")
    assert any(r.added()["frequent_words"] for r in scirgen.Release(tmp_path / "killed").rows())


class Done(Observer):
    """Notes the stages of the items that were executed, not reused."""

    def __init__(self) -> None:
        self.executed: list[str] = []

    def finished(self, result: StoredResult, *, reused: bool, seconds: float) -> None:
        if not reused:
            self.executed.append(result.stage)


def test_an_unknown_step_is_refused_with_the_near_one(installed: Registry) -> None:
    with pytest.raises(scirgen.ConfigError) as caught:
        plan(installed, load_config(flags={"steps": ["word_count"]}).config)
    assert "word_counts" in caught.value.hint


def test_every_kind_has_an_example_here_or_in_a_wing(installed: Registry) -> None:
    mine = {kind for (kind, _), (plugin, _) in installed.entries().items() if plugin == "scirgen-examples"}
    doors = {"release_part", "further_request", "reader", "resources", "taxonomy", "kind", "known_model", "codes"}
    shown_by_wings = doors | {"labels", "embedder", "record_form", "dataset_lookup", "http_client"}
    assert mine == set(CONTRACTS) - shown_by_wings | {"retriever", "query_recipe"}
    installed.verify(name for _, name in installed.entries())


def test_example_retriever_and_entailment_model_work(installed: Registry) -> None:
    retriever = make_retriever(installed, "shortest")
    assert isinstance(retriever, Retriever)
    retriever.index(["a long document", "short"])
    assert retriever.search(["anything"], 1).documents.tolist() == [[1]]
    made = installed.get("entailment", "equal")(ModelURI.parse("equal:texts"), {})
    yes, no = asyncio.run(made.entail([("Ice is thin.", "ice is thin"), ("Ice is thin.", "ice is thick")]))
    assert yes.entailment > 0.5 > no.entailment


def test_docs_show_the_example_of_each_kind() -> None:
    text = (EXAMPLES.parents[1] / "docs" / "plugins.md").read_text(encoding="utf-8")
    for file in (EXAMPLES / "scirgen_examples").glob("*.py"):
        assert f"examples/plugins/scirgen_examples/{file.name}" in text, file.name


def test_examples_need_public_names_only() -> None:
    for file in (EXAMPLES / "scirgen_examples").glob("*.py"):
        for line in file.read_text(encoding="utf-8").splitlines():
            assert not line.startswith(("from scirgen.", "import scirgen.")), f"{file.name}: {line}"


class NoExplanation(scirgen.PairGate):
    code = "mine"

    def judge(self, pair, material, ctx):
        return scirgen.ACCEPT


class NotAsync:
    code, explanation = "mine", "x"

    def check(self, pairs, material, ctx):
        return []


class TooFew:
    name = "mine"
    needs = ()

    async def judge(self, pair):
        return None


class OldEntailment:
    counts_words = True

    def __init__(self, uri) -> None:
        self.identity = uri

    async def entail(self, pairs): ...


class WithName:
    def __init__(self, setup) -> None:
        self.name = "mine"

    def revision(self, cursor): ...
    def datasets(self, cursor=None): ...
    def papers(self, dataset): ...
    def fetch(self, paper): ...


@pytest.mark.parametrize(
    ("kind", "name", "found", "problems"),
    [
        ("gate", "mine", NoExplanation, ["it lacks explanation"]),
        ("gate", "mine", NotAsync, ["check() must be async"]),
        ("gate", "other", type("G", (NoExplanation,), {"explanation": "x"}),
         ["it is registered as 'other', and its code is 'mine'"]),
        ("match_strategy", "mine", TooFew, ["judge() must take (pair, ctx)"]),
        ("release_format", "mine", type("F", (), {}), ["it lacks write(release, folder)"]),
        ("parser", "mine", type("P", (), {"parse": lambda self, path: None}), ["<lambda>() must take (path, options)"]),
        ("source", "mine", WithName, []),
        ("entailment", "mine", OldEntailment, ["__init__() must take (uri, options)"]),
        ("domain", "mine", 7, ["it lacks name", "it lacks title", "it lacks root"]),
        ("source", "mine", lambda setup: None, []),
    ],
)  # fmt: skip
def test_shape_of_a_plugin_is_judged_before_it_is_used(
    kind: str, name: str, found: object, problems: list[str]
) -> None:
    assert shape_problems(kind, name, found, CONTRACTS[kind]) == problems


def test_plugin_of_the_wrong_shape_is_one_error_with_its_name_and_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "odd_gate.py").write_text("class Odd:\n    code = 'odd'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    registry = Registry()
    registry.add(scirgen.Plugin("mine", "1", (scirgen.Provided("gate", "odd", "odd_gate:Odd"),)))
    with pytest.raises(scirgen.ConfigError) as caught:
        registry.verify(["odd"])
    said = caught.value.message
    assert "plugin 'mine': gate 'odd' (odd_gate:Odd in " in said and "odd_gate.py)" in said
    assert "it lacks explanation; it lacks async check(pairs, material, ctx)" in said
