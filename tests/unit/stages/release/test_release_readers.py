"""Each format is read back by the reader it is made for."""

from __future__ import annotations

import json
import shutil

import pytest

from scirgen.core.config import Config
from scirgen.core.errors import InputError
from scirgen.core.registry import Registry, load_registry
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.release_files.release import SPLITS, Release
from scirgen.stages.base import StageContext
from scirgen.stages.release.stage import ReleaseStage
from tests.support.content_factory import small_run
from tests.support.release_writing import write


@pytest.fixture
def release(tmp_path):
    return write(small_run(), tmp_path / "release")


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """`datasets`, offline, with a cache of its own."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    import datasets

    datasets.disable_progress_bars()
    return datasets


def test_datasets_loads_every_configuration_with_the_cards_columns(release, hub, tmp_path):
    folder, cache = str(release.folder), str(tmp_path / "cache")
    names = hub.get_dataset_config_names(folder)
    assert names[0] == "questions"
    questions = hub.load_dataset(folder, "questions", cache_dir=cache)
    for split, hub_split in zip(SPLITS, ("train", "validation", "test"), strict=True):
        rows = list(release.rows(split))
        loaded = questions[hub_split]
        assert loaded["id"] == [r.id for r in rows]
        assert loaded[0]["evidence"][0]["text"] == rows[0].evidence[0].text
        assert loaded[0]["scores"] == [{"name": "seper", "value": 0.25, "threshold": 0.0, "passed": True}]
    corpus = hub.load_dataset(folder, "corpus-with-paper", split="corpus", cache_dir=cache)
    assert corpus["text"] == [d.text for d in release.corpus("with-paper")]
    assert set(names) == {
        "questions", "corpus-without-paper", "corpus-with-paper", "passages", "papers", "aspects"
    }  # fmt: skip


def test_mlcroissant_accepts_the_metadata_and_reads_the_rows(release, caplog):
    import mlcroissant

    dataset = mlcroissant.Dataset(str(release.folder / "croissant.json"))
    assert not dataset.metadata.ctx.issues.errors
    assert "context` is not standard" not in caplog.text
    rows = list(dataset.records("questions-train"))
    assert [r["questions-train/id"].decode() for r in rows] == [r.id for r in release.rows("train")]
    assert len(list(dataset.records("passages"))) == release.info.counts["passages"]


@pytest.fixture(scope="module")
def formatted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("formats") / "release"
    return write(
        small_run(), folder, load_registry(), formats=("jsonl", "parquet", "beir", "trec", "ir_datasets", "rag")
    )


def test_parquet_holds_the_same_rows_and_is_loaded_offline(formatted, hub, tmp_path):
    folder = formatted.folder / "parquet"
    for split in SPLITS:
        loaded = hub.load_dataset(
            "parquet", data_files={"x": str(folder / f"{split}.parquet")}, split="x", cache_dir=str(tmp_path / split)
        )
        assert loaded.to_list() == [r.model_dump(mode="json") for r in formatted.rows(split)]
    passages = hub.load_dataset(
        "parquet", data_files=str(folder / "passages.parquet"), split="train", cache_dir=str(tmp_path / "p")
    )
    assert passages.to_list() == [p.model_dump(mode="json") for p in formatted.passages()]


def test_beirs_own_loader_reads_corpus_queries_and_qrels(formatted):
    from beir.datasets.data_loader import GenericDataLoader

    for setting in ("without-paper", "with-paper"):
        for split in SPLITS:
            corpus, queries, qrels = GenericDataLoader(str(formatted.folder / "beir" / setting)).load(split=split)
            assert qrels == formatted.qrels(split)
            assert queries == {r.id: r.question for r in formatted.rows(split)}
            assert {k: (v["title"], v["text"]) for k, v in corpus.items()} == {
                d.id: (d.title, d.text) for d in formatted.corpus(setting)
            }
    corpus, queries, qrels = GenericDataLoader(str(formatted.folder / "beir" / "passages")).load(split="train")
    assert qrels == formatted.passage_qrels("train") and set(qrels) == set(queries)
    assert {k: (v["title"], v["text"]) for k, v in corpus.items()} == {
        p.id: (p.headline, p.text) for p in formatted.passages()
    }


def test_beir_has_no_query_without_a_qrel(formatted, tmp_path):
    shutil.copytree(formatted.folder, tmp_path / "r")
    papers_alone = [r.id for r in formatted.rows("train")][:2]  # no dataset uses the papers that answer them
    file = tmp_path / "r" / "qrels" / "train.tsv"
    file.write_text("".join(x for x in file.open(encoding="utf-8") if x.split("\t")[0] not in papers_alone), "utf-8")
    beir = load_registry().get("release_format", "beir")()
    beir.write(Release(tmp_path / "r"), tmp_path / "some")
    for unit, missing in (("with-paper", papers_alone), ("without-paper", papers_alone), ("passages", [])):
        lines = (tmp_path / "some" / unit / "queries.jsonl").read_text("utf-8").splitlines()
        assert {json.loads(line)["_id"] for line in lines} == {r.id for r in formatted.rows()} - {*missing}
    for split in SPLITS:
        (tmp_path / "r" / "qrels" / f"{split}.tsv").write_text("query-id\tcorpus-id\tscore\n", "utf-8")
    beir.write(Release(tmp_path / "r"), tmp_path / "none")
    assert [unit.name for unit in (tmp_path / "none").iterdir()] == ["passages"]


def test_trec_files_are_read_by_ir_datasets_and_ir_measures(formatted):
    import ir_measures
    from ir_datasets.formats import TrecDocs, TrecQueries
    from ir_datasets.util import LocalDownload

    folder = formatted.folder / "trec"
    for split in SPLITS:
        rows = list(formatted.rows(split))
        topics = TrecQueries(LocalDownload(folder / f"topics.{split}.trec"))
        assert [(t.query_id, t.title) for t in topics.queries_iter()] == [(r.id, r.question) for r in rows]
        qrels: dict[str, dict[str, int]] = {}
        for q in ir_measures.read_trec_qrels(str(folder / f"qrels.{split}.txt")):
            qrels.setdefault(q.query_id, {})[q.doc_id] = q.relevance
        assert qrels == formatted.qrels(split)
    for setting in ("without-paper", "with-paper"):
        docs = TrecDocs(LocalDownload(folder / f"docs.{setting}.trec"), parser="text")
        read = {d.doc_id: " ".join(d.text.split()) for d in docs.docs_iter()}
        assert read == {d.id: " ".join(f"{d.title} {d.text}".split()) for d in formatted.corpus(setting)}
    graded = [(q.query_id, q.doc_id) for q in ir_measures.read_trec_qrels(str(folder / "qrels.passages.dev.txt"))]
    assert graded == [(q, p) for q, found in formatted.passage_qrels("dev").items() for p in found]
    docs = TrecDocs(LocalDownload(folder / "docs.passages.trec"), parser="text")
    assert [d.doc_id for d in docs.docs_iter()] == [p.id for p in formatted.passages()]


def test_ir_datasets_loads_the_registered_ids(formatted, tmp_path):
    import ir_datasets

    from scirgen_bench.adapters.irds import register

    ids = register(formatted.folder / "ir_datasets")
    assert register(str(formatted.folder)) == ids
    assert "scirgen/snow/with-paper/dev" in ids
    assert len(ids) == 3 + 3 * 3
    passages = ir_datasets.load("scirgen/snow/passages/train")
    assert len(list(passages.docs_iter())) == len(list(formatted.passages()))
    assert {(q.query_id, q.doc_id, q.relevance) for q in passages.qrels_iter()} == {
        (q, p, 2) for q, found in formatted.passage_qrels("train").items() for p in found
    }
    loaded = ir_datasets.load("scirgen/snow/with-paper/train")
    rows = list(formatted.rows("train"))
    assert [(q.query_id, q.text) for q in loaded.queries_iter()] == [(r.id, r.question) for r in rows]
    assert len(list(loaded.docs_iter())) == len(list(formatted.corpus()))
    assert {q.query_id for q in loaded.qrels_iter()} == {r.id for r in rows}
    assert loaded.docs_store().get("ds-002").text.endswith("Snow depth declined.")
    other = tmp_path / "ir_datasets"
    shutil.copytree(formatted.folder / "ir_datasets", other)
    with pytest.raises(InputError, match="already used by"):
        register(other)


def test_rag_samples_have_each_answer_with_its_evidences_passages(formatted):
    """Their own readers are in tests/integration/rag (make test-rag): they bring a hundred packages."""
    folder = formatted.folder / "rag"
    rows = {r.question: r for r in formatted.rows("test")}
    passages = {p.id: p.text for p in formatted.passages()}
    ragas = [json.loads(line) for line in (folder / "ragas.jsonl").read_text().splitlines()]
    assert {r["user_input"] for r in ragas} == set(rows)
    for entry in ragas:
        row = rows[entry["user_input"]]
        assert entry["reference"] == row.answer
        assert entry["reference_contexts"] == [passages[p] for p in row.passages]
        assert any(row.evidence[0].text in c for c in entry["reference_contexts"])
    pairs = json.loads((folder / "llama_index_pairs.json").read_text())
    assert pairs["queries"] == {r.id: r.question for r in rows.values()}
    assert pairs["responses"] == {r.id: r.answer for r in rows.values()}


def test_the_datasheet_has_all_seven_sections_with_this_releases_figures(release):
    text = (release.folder / "datasheet.md").read_text()
    sections = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
    assert sections == [
        "Motivation", "Composition", "Collection process", "Preprocessing, cleaning, labelling", "Uses", "Distribution",
        "Maintenance",
    ]  # fmt: skip
    assert f"{release.info.counts['rows']} questions about {release.info.counts['datasets']} datasets" in text
    assert "`openai:m@1`" in text
    assert "**Is information missing?** None on record." in text
    assert all(line.startswith(("#", "- **", "  ", "After", "its publisher")) for line in text.splitlines() if line)


def test_what_the_publisher_knows_comes_from_the_settings(release, tmp_path):
    text = (release.folder / "datasheet.md").read_text()
    assert "[publisher]" not in text
    assert "**Who funded it?** Not stated by the publisher." in text
    config = Config.model_validate({"release": {"about": {"funder": "The snow fund", "contact": "a@example.org"}}})
    resources = Resources()
    ctx = StageContext(config, resources, None, Taxonomies(resources), Registry(), tmp_path, run=small_run())
    made, _ = ReleaseStage()._write(ctx)
    assert "**Who funded it?** The snow fund." in (made.folder / "datasheet.md").read_text()
    assert "Contact: a@example.org." in (made.folder / "README.md").read_text()
