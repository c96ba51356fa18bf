from __future__ import annotations

import json
from pathlib import Path

import pytest

from scirgen.core.corpus import passages_of, record_passage
from scirgen.core.errors import InputError, PluginError, StoreError
from scirgen.core.fingerprint import file_sha256
from scirgen.core.records import (
    LINKED,
    OWN,
    Block,
    BlockKind,
    Document,
    Grade,
    Link,
    Paper,
    Score,
    SectionClass,
    SectionLabel,
    Span,
)
from scirgen.core.registry import Plugin, Provided, Registry
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.release_files.release import SPLITS, Release, ReleaseInfo
from scirgen.stages.release.content import from_run
from scirgen.stages.release.write import ReleaseSettings, write_release
from tests.support.content_factory import PROVENANCE, dataset, name, pair, small_run
from tests.support.release_writing import RATIOS, info, write, write_content


def tree(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_every_accepted_pair_is_in_exactly_one_split_with_its_qrel(tmp_path):
    run = small_run()
    release = write(run, tmp_path / "release")
    seen = [row.id for row in release.rows()]
    merged = {p.id for p in run.all_pairs if p.dataset_id == "ds-005" and "SNOW" in p.question}
    assert sorted(seen) == sorted(p.id for p in run.all_pairs if p.id not in merged or p.id in seen)
    assert len(seen) == len(run.all_pairs) - 1
    for split in SPLITS:
        judged = release.qrels(split)
        assert judged == {r.id: dict.fromkeys(r.dataset_ids or (r.dataset_id,), 1) for r in release.rows(split)}
        assert release.info.splits[split].rows == len(judged)


def test_a_question_about_a_shared_paper_has_all_its_datasets_as_gold(tmp_path):
    run = small_run()
    asked = next(p for p in run.all_pairs if p.question == "Which sensors measured it?")
    run.all_pairs = [p.model_copy(update={"about": "paper"}) if p is asked else p for p in run.all_pairs]
    release = write(run, tmp_path / "release")
    row = next(r for r in release.rows() if r.question == asked.question)
    assert (row.about, row.dataset_id, row.dataset_ids) == ("paper", "ds-000", ("ds-000", "ds-001"))
    assert release.qrels(row.split)[row.id] == {"ds-000": 1, "ds-001": 1}
    # One that the record answers stays its own dataset's.
    assert all(not r.dataset_ids for r in release.rows() if r.dataset_id == "ds-001")


def test_datasets_that_share_a_paper_or_a_question_stay_in_one_split(tmp_path):
    for seed in range(8):
        release = write(small_run(), tmp_path / f"r{seed}", seed=seed)
        split_of = {row.dataset_id: row.split for row in release.rows()}
        assert split_of["ds-000"] == split_of["ds-001"]
        assert split_of["ds-004"] == split_of["ds-005"]
        assert all(row.shared == 0 for row in release.info.leakage)


def test_leakage_is_counted_where_published_splits_have_it(tmp_path):
    content = from_run(small_run(), info())
    content.splits = {d: "test" if d in ("ds-001", "ds-005") else "train" for d in content.datasets}
    content.keep_all = True
    release = write_content(content, tmp_path / "release")
    found = {r.what: (r.shared, r.of) for r in release.info.leakage if (r.left, r.right) == ("train", "test")}
    assert found["datasets with a paper the other split has too"] == (1, 1)
    assert found["papers"] == (1, 1)
    assert found["repeated questions"] == (1, 1)
    assert "as published" in release.info.split_rule


def test_the_same_results_give_the_same_bytes_whatever_order_they_come_in(tmp_path):
    first, second = small_run(), small_run()
    second.all_datasets.reverse()
    for rows in second.stored.values():
        rows.reverse()
    write(first, tmp_path / "a" / "release")
    write(second, tmp_path / "b" / "release")
    assert tree(tmp_path / "a") == tree(tmp_path / "b")


def test_evidence_keeps_its_licence_and_points_at_its_passages(tmp_path):
    release = write(small_run(), tmp_path / "release")
    passages = {p.id: p for p in release.passages()}
    assert all(len(p.text.split()) <= 100 for p in passages.values())
    corpus = {d.id: d for d in release.corpus()}
    for row in release.rows():
        assert row.passages
        for evidence in row.evidence:
            if evidence.source == "dataset":
                document = corpus[evidence.document_id]
                assert document.metadata[evidence.start : evidence.end] == evidence.text
                assert evidence.licence == document.licence
            holding = [passages[i] for i in row.passages if passages[i].document_id == evidence.document_id]
            assert any(evidence.text in p.text for p in holding)
            assert {p.licence for p in holding} == {evidence.licence}
    (cited,) = [r for r in release.rows() if r.question == "Which sensors measured it?"]
    assert cited.evidence[0].licence == "CC-BY-4.0"
    shared = [p for p in passages.values() if p.document_id == "doc-p-shared"]
    assert [p.text for p in shared] == ["We measured snow depth with ultrasonic sensors."]
    assert shared[0].dataset_ids == ("ds-000", "ds-001")


def test_evidence_is_found_in_the_releases_own_passages(tmp_path):
    run = small_run()
    start = dataset(2).text.index("Description")
    long = Span(document_id="ds-002", start=start, end=len(dataset(2).text), text=dataset(2).text[start:])
    own = dataset(2).model_copy(update={"fields": (("Notes", "snow " * 150),)})
    long = long.model_copy(update={"end": len(own.text), "text": own.text[start:]})
    run.all_datasets = [own if d.id == "ds-002" else d for d in run.all_datasets]
    asked = next(p for p in run.all_pairs if p.dataset_id == "ds-002")
    run.all_pairs = [p.model_copy(update={"evidence": (long,)}) if p is asked else p for p in run.all_pairs]
    release = write(run, tmp_path / "release")
    passages = {p.id: p for p in release.passages()}
    for row in release.rows():
        for evidence in row.evidence:
            parts = [passages[p.passage].text[p.start : p.end] for p in evidence.places]
            assert "".join("".join(parts).split()) == "".join(evidence.text.split())
            assert [p.passage for p in evidence.places] == [
                i for i in row.passages if i in {q.passage for q in evidence.places}
            ]
    (one,) = [e for r in release.rows() if r.id == asked.id for e in r.evidence]
    assert len(one.places) == 1  # a record is one passage


FIRST = "The lake was sampled " + "daily " * 60 + "in winter."
SENTENCES = (FIRST, FIRST.replace("winter", "spring"), "Ice melts in May.", "Fish return in June.")


def read_paper(licence: str):
    """A run whose shared paper was read: two passages of a heading, one sentence quoted from the first and two from the
    second."""
    run = small_run()
    text = "Lake ice\n" + " ".join(SENTENCES)
    blocks = (
        Block(kind=BlockKind.TITLE, start=0, end=8),
        Block(kind=BlockKind.PARAGRAPH, start=9, end=len(text), heading_path=("Results",)),
    )
    document = Document(id="doc-p-shared", paper_id="p-shared", title="Lake ice", text=text, blocks=blocks)
    run.stored["parse"] = [document, document]
    run.stored["verify"] = []
    paper = Paper(id="p-shared", title="Lake ice", licence=licence, authors=("Mori, A.",), year=2019)
    run.stored["collect"] = [paper]
    wanted = (SENTENCES[1], SENTENCES[3], "Lake ice")
    spans = tuple(document.span(text.index(s), text.index(s) + len(s)) for s in wanted)
    asked = next(p for p in run.all_pairs if p.question == "Which sensors measured it?")
    run.all_pairs = [p.model_copy(update={"evidence": spans}) if p is asked else p for p in run.all_pairs]
    return run, document, asked


def test_an_open_paper_is_released_in_passages_of_whole_sentences(tmp_path):
    run, document, asked = read_paper("CC-BY-4.0")
    release = write(run, tmp_path / "release")
    made = {p.id: p for p in release.passages() if p.document_id == "doc-p-shared"}
    assert [p.text for p in made.values()] == ["Lake ice", SENTENCES[0], " ".join(SENTENCES[1:])]
    assert [p.id for p in passages_of(document)] == [p.id for p in list(made.values())[1:]]
    last = list(made.values())[-1]
    assert (last.title, last.heading, last.authors, last.year) == ("Lake ice", "Results", ("Mori, A.",), 2019)
    assert last.searched.startswith("Lake ice (Mori, A., 2019) Results The lake")
    row = next(r for r in release.rows() if r.id == asked.id)
    for evidence in row.evidence:
        (place,) = evidence.places
        assert made[place.passage].text[place.start : place.end] == evidence.text
    # The title adds nothing to the answer that the sentences lack.
    assert release.passage_qrels(row.split)[row.id] == {last.id: 2, next(iter(made)): 1}
    assert (row.needs_documents, row.needs_facts) == (1, 1)


@pytest.mark.parametrize("licence", ["CC-BY-ND-4.0", "unknown", "CC-BY-NC-4.0"])
def test_of_a_paper_that_is_not_open_only_quotations_are_released(tmp_path, licence):
    run, document, asked = read_paper(licence)
    release = write(run, tmp_path / "release")
    made = {p.id: p for p in release.passages() if p.document_id == "doc-p-shared"}
    assert [p.text for p in made.values()] == ["Lake ice", f"{SENTENCES[1]}\n{SENTENCES[3]}"]
    last = list(made.values())[-1]
    assert last.id in {p.id for p in passages_of(document)}  # the same passage as in an open paper
    assert (last.whole, last.heading) == (False, "")
    for evidence in next(r for r in release.rows() if r.id == asked.id).evidence:
        (place,) = evidence.places
        assert made[place.passage].text[place.start : place.end] == evidence.text


def test_passages_that_were_read_for_a_question_keep_their_grades(tmp_path):
    run, document, asked = read_paper("CC-BY-4.0")
    first, second = passages_of(document)
    graded = [(first, 0), (second, 2)]
    grades = [Grade(passage_id=p.id, document_id=p.document_id, start=p.start, end=p.end, grade=g) for p, g in graded]
    absent = Grade(passage_id="psg-0", document_id="doc-9", start=0, end=9, grade=1)
    sought = {"asked": "seeking", "grades": (*grades, absent)}
    run.all_pairs = [p.model_copy(update=sought) if p.id == asked.id else p for p in run.all_pairs]
    release = write(run, tmp_path / "release")
    row = next(r for r in release.rows() if r.id == asked.id)
    assert release.passage_qrels(row.split)[row.id] == {first.id: 0, second.id: 2}


def test_a_passage_that_only_says_what_an_answer_is_about_is_no_gold(tmp_path):
    run, _, asked = read_paper("CC-BY-4.0")
    [asked] = [p for p in run.all_pairs if p.id == asked.id]
    *answer, title = asked.evidence
    spans = (*answer, title.model_copy(update={"role": "context"}))
    run.all_pairs = [p.model_copy(update={"evidence": spans}) if p.id == asked.id else p for p in run.all_pairs]
    release = write(run, tmp_path / "release")
    row = next(r for r in release.rows() if r.id == asked.id)
    titles = {p.id for p in release.passages() if p.text == "Lake ice"}
    assert titles and titles.isdisjoint(row.passages)
    assert titles.isdisjoint(release.passage_qrels(row.split)[row.id])


def test_evidence_and_aspects_keep_page_and_box(tmp_path):
    run = small_run()
    box = (72.0, 90.5, 300.0, 101.25)
    asked = next(p for p in run.all_pairs if p.question == "Which sensors measured it?")
    placed = asked.evidence[0].model_copy(update={"page": 3, "bbox": box})
    run.all_pairs = [p.model_copy(update={"evidence": (placed,)}) if p is asked else p for p in run.all_pairs]
    release = write(run, tmp_path / "release")
    (evidence,) = next(r.evidence for r in release.rows() if r.question == asked.question)
    assert (evidence.page, evidence.bbox) == (3, box)


@pytest.mark.parametrize("name", ["mine.txt", "train.jsonl", "corpus/more.jsonl"])
def test_a_folder_that_scirgen_did_not_write_is_not_replaced(name, tmp_path):
    folder = tmp_path / "release"
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_text("mine")
    with pytest.raises(InputError, match="it is not a release of scirgen"):
        write(small_run(), folder)
    assert tree(folder) == {name: b"mine"}


def test_a_release_with_a_file_of_its_owner_is_not_replaced(tmp_path):
    release = write(small_run(), tmp_path / "release")
    (release.folder / "notes.md").write_text("mine")
    before = tree(release.folder)
    with pytest.raises(InputError, match=r"contains notes\.md, which its release.json does not list"):
        write(small_run(), tmp_path / "release", seed=4)
    assert tree(release.folder) == before
    (release.folder / "notes.md").unlink()
    assert tree(write(small_run(), tmp_path / "release", seed=4).folder) != before


def test_a_link_in_the_place_of_a_release_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "release").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="is not a folder"):
        write(small_run(), tmp_path / "release")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_only_papers_judged_to_be_used_are_released(tmp_path):
    release = write(small_run(), tmp_path / "release")
    assert {p.id: p.dataset_ids for p in release.papers()} == {"p-own": ("ds-002",), "p-shared": ("ds-000", "ds-001")}
    with_paper = {d.id: d.text for d in release.corpus("with-paper")}
    without = {d.id: d.text for d in release.corpus("without-paper")}
    assert with_paper["ds-002"] == without["ds-002"] + "\nSnow depth declined."
    assert with_paper["ds-003"] == without["ds-003"]


def test_a_paper_is_found_by_the_id_of_its_text_and_has_its_title(tmp_path):
    run = small_run()
    run.stored["collect"] = [
        Paper(id="p-shared", title="From the source", sha256="ab12"),
        Paper(id="p-own", sha256="cd34"),
    ]
    read = [("p-shared", "From the PDF"), ("p-own", "Own paper, as it stands in the PDF"), ("p-unused", "Not used")]
    run.stored["parse"] = [Document(id=f"doc-{i}", paper_id=i, title=t, text="", blocks=()) for i, t in read]
    release = write(run, tmp_path / "release")
    papers = {p.document_id: (p.title, p.sha256) for p in release.papers()}
    assert papers == {
        "doc-p-shared": ("From the source", "ab12"),
        "doc-p-own": ("Own paper, as it stands in the PDF", "cd34"),
    }
    quoted = {e.document_id for r in release.rows() for e in r.evidence if e.source == "paper"}
    assert quoted and quoted | {a.document_id for a in release.aspects()} <= set(papers)


def test_release_json_lists_every_file_with_its_hash_and_no_clock_time(tmp_path):
    release = write(small_run(), tmp_path / "release")
    listed = {f.path: f for f in release.info.files}
    assert set(listed) == set(tree(release.folder)) - {"release.json"}
    for path, row in listed.items():
        assert file_sha256(release.folder / path) == row.sha256
    assert listed["train.jsonl"].rows == release.info.splits["train"].rows
    assert release.info.left_out == {"filter: too_vague": 2, "release: merged": 1}
    assert release.info.models == ("openai:m@1",)


@pytest.mark.parametrize("datasets", [1, 2, 3, 5])
def test_tiny_run_has_sensible_splits_and_the_card_names_empty_ones(tmp_path, datasets):
    run = small_run(datasets=max(datasets, 4), pairs_each=8)
    keep = {f"ds-{i:03}" for i in range(4 - datasets, 4)} if datasets < 4 else {d.id for d in run.all_datasets}
    run.all_datasets = [d for d in run.all_datasets if d.id in keep]
    run.all_pairs = [p for p in run.all_pairs if p.dataset_id in keep]
    release = write(run, tmp_path / "release")
    sizes = {s: release.info.splits[s].rows for s in SPLITS}
    assert sum(sizes.values()) == len(run.all_pairs) - release.info.left_out.get("release: merged", 0)
    assert sizes["train"] == max(sizes.values())
    card = (release.folder / "README.md").read_text()
    for split, size in sizes.items():
        assert (f"The split {split} is empty" in card) == (size == 0)
    if datasets >= 3:
        assert all(sizes.values())


def test_a_run_without_an_accepted_row_still_gives_a_readable_release(tmp_path):
    run = small_run()
    run.all_pairs = []
    release = write(run, tmp_path / "release")
    assert list(release.rows()) == []
    assert len(list(release.corpus())) == 12


def test_an_unknown_format_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(PluginError, match="no_such"):
        write(small_run(), tmp_path / "release", formats=("jsonl", "no_such"))
    assert list(tmp_path.iterdir()) == []


class FailsHalfway:
    def write(self, release: Release, folder: Path) -> None:
        folder.mkdir()
        (folder / "part").write_text("half")
        raise OSError(28, "No space left on device")


class MakesNoFolder:
    def write(self, release: Release, folder: Path) -> None:
        (folder / "part").write_text("all")


def test_a_format_that_makes_no_folder_is_told_so(tmp_path):
    registry = Registry()
    registry.add(Plugin("t", "1", (Provided("release_format", "bad", f"{__name__}:MakesNoFolder"),)))
    with pytest.raises(PluginError, match="release format 'bad': FileNotFoundError") as caught:
        write(small_run(), tmp_path / "release", registry, formats=("bad",))
    assert "folder.mkdir()" in caught.value.hint
    assert "(plugin 't': MakesNoFolder.write() in test_release_write.py, line " in caught.value.message


def test_a_full_disk_leaves_the_release_that_was_there(tmp_path):
    registry = Registry()
    registry.add(Plugin("t", "1", (Provided("release_format", "bad", f"{__name__}:FailsHalfway"),)))
    write(small_run(), tmp_path / "release")
    before = tree(tmp_path)
    changed = small_run(pairs_each=2)
    with pytest.raises(StoreError, match="No space left"):
        write(changed, tmp_path / "release", registry, formats=("bad",))
    assert tree(tmp_path) == before


def test_leavings_of_a_killed_writer_are_cleared(tmp_path):
    (tmp_path / ".release.making" / "corpus").mkdir(parents=True)
    (tmp_path / ".release.making" / "corpus" / "old.jsonl").write_text("{}")
    release = write(small_run(), tmp_path / "release")
    assert not (release.folder / "corpus" / "old.jsonl").exists()
    assert [p.name for p in tmp_path.iterdir()] == ["release"]


def test_text_from_catalogues_cannot_break_the_cards_tables(tmp_path):
    run = small_run()
    run.all_datasets[0] = dataset(0, licence="CC | <script>alert(1)</script>\nX")
    release = write(run, tmp_path / "release")
    card = (release.folder / "README.md").read_text()
    assert "<script>" not in card
    assert "CC \\| &lt;script>" in card


def test_opening_something_else_says_what_to_do(tmp_path):
    with pytest.raises(InputError, match="not a release"):
        Release(tmp_path)
    (tmp_path / "release.json").write_text(json.dumps({"schema_version": 99}))
    with pytest.raises(InputError, match="newer"):
        Release(tmp_path)


def test_a_question_of_two_datasets_with_one_answer_has_two_positives(tmp_path):
    content = from_run(small_run(), info())
    release, dropped = write_release(
        content,
        tmp_path / "release",
        ReleaseSettings(
            ratios=RATIOS,
            seed=0,
            formats=(),
            registry=Registry(),
            wording=Taxonomies(Resources()).wording.of("en"),
        ),
    )
    (row,) = [r for r in release.rows() if r.dataset_ids]
    assert row.dataset_ids == ("ds-004", "ds-005")
    assert release.qrels(row.split)[row.id] == {"ds-004": 1, "ds-005": 1}
    (rejection,) = dropped
    assert (rejection.stage, rejection.code, rejection.record_kind) == ("release", "merged", "QAPair")
    assert rejection.record_id not in {r.id for r in release.rows()}


def test_a_paper_and_the_record_made_from_it_are_one_document_that_a_row_needs():
    for found_by, link, needs in (("own", "", 1), ("doi", "comparison", 2)):
        run = small_run()
        old = run.stored["match"][2]
        run.stored["match"][2] = old.model_copy(update={"found_by": found_by})
        score = Score(name=LINKED, value=1.0, parts=(("doc-p-own", 1.0), ("ds-002", 1.0)), detail="comparison")
        cited = Span(document_id="doc-p-own", start=5, end=25, text="Snow depth declined.")
        asked = pair(run.all_datasets[2], 0)
        run.all_pairs.append(asked.model_copy(update={"scores": (score,), "evidence": (*asked.evidence, cited)}))
        (made,) = [p for p in from_run(run, info()).pairs() if p.scores[0].name == LINKED]
        assert (made.link, len(made.needs)) == (link, needs)


def test_a_question_that_two_datasets_answer_differently_is_left_out(tmp_path):
    run = small_run()
    run.all_pairs[-1] = run.all_pairs[-1].model_copy(update={"answer": "The height of newly fallen ice crystals"})
    release = write(run, tmp_path / "release")
    assert not [r for r in release.rows() if "now depth" in r.question and "alley" not in r.question]
    assert release.info.left_out["release: conflicting_gold"] == 2


def test_a_row_names_what_wrote_it_and_the_card_what_each_stage_used(tmp_path):
    run = small_run()
    tagged = PROVENANCE.model_copy(update={"stage": "tag", "model": "tagger:t@1", "prompt": "tag/bloom@1#b"})
    run.stored["generate"] = list(run.all_pairs)
    run.stored["verify"] = [
        a.model_copy(
            update={"provenance": PROVENANCE.model_copy(update={"stage": "verify", "prompt": "verify/keep@1#k"})}
        )
        for a in run.stored["verify"]
    ]
    run.all_pairs = [p.model_copy(update={"provenance": tagged}) for p in run.all_pairs]
    release = write(run, tmp_path / "release")
    assert {(r.model, r.prompt) for r in release.rows()} == {("openai:m@1", "generate/pairs@1#abc")}
    assert [(m.stage, m.model, m.prompt) for m in release.info.made] == [
        ("verify", "openai:m@1", "verify/keep@1#k"),
        ("generate", "openai:m@1", "generate/pairs@1#abc"),
        ("filter", "openai:m@1", ""),
        ("tag", "tagger:t@1", "tag/bloom@1#b"),
    ]
    card = (release.folder / "README.md").read_text()
    assert "| generate | openai:m@1 | generate/pairs@1#abc |" in card
    assert set(release.info.models) == {"openai:m@1", "tagger:t@1"}


def test_a_row_says_whether_the_filter_was_unsure(tmp_path):
    run = small_run()
    run.all_pairs = [p.model_copy(update={"unsure": n % 3 == 0}) for n, p in enumerate(run.all_pairs)]
    wanted = {p.id: p.unsure for p in run.all_pairs}
    found = {r.id: r.unsure for r in write(run, tmp_path / "release").rows()}
    assert set(found.values()) == {True, False}
    assert all(wanted[i] is agreed for i, agreed in found.items())


def test_the_card_says_the_known_limits_in_figures_of_this_release(tmp_path):
    run = small_run()
    yes_no = [
        pair(run.all_datasets[i], 200 + i, f"Was {name(i, 'Q')} measured by hand?").model_copy(
            update={"question_type": "verification", "answer": answer, "evidence": ()}
        )
        for i, answer in enumerate(("Yes", "Yes, it was.", "No"))
    ]
    run.all_pairs += yes_no
    card = (write(run, tmp_path / "release").folder / "README.md").read_text()
    rows = len(list(Release(tmp_path / "release").rows()))
    assert f"- 3 of {rows} answers cite no evidence" in card
    assert "Of 3 answers to yes/no questions 2 are Yes, 1 No: always saying Yes is right in 67%." in card
    assert "figures measured on it are uncertain" in card
    assert (
        "licences |" not in card
        and "may be published | records | papers | passages | questions |\n|---|---|---:" in card
    )


def test_imported_card_claims_no_evidence_and_says_what_leaks(tmp_path):
    content = from_run(small_run(), ReleaseInfo(name="x", origin="Somebody's data", scirgen="1", domain="geo"))
    ids = list(content.datasets)
    content.splits = {d: "train" if n != 1 else "test" for n, d in enumerate(ids)}
    content.keep_all = True
    release = write_content(content, tmp_path / "release")
    card = (release.folder / "README.md").read_text()
    assert "exact\ntext the answer stands on" not in card and "Rule: as published.\n" in card
    assert "1 of 1 test datasets with papers share one with train: figures on test are flattered." in card
    sheet = (release.folder / "datasheet.md").read_text()
    assert "verbatim" not in sheet and "The authors of Somebody's data;" in sheet


@pytest.mark.parametrize("licence", ["unknown", "cc-by-4.0"])
def test_a_record_made_of_a_closed_paper_holds_only_what_is_cited(tmp_path, licence):
    said = "Ice melts in May.", "Fish return in June."
    record = dataset(2).model_copy(update={"description": " ".join(said), "licence": licence})
    text = f"{record.title}\n{record.description}"
    block = Block(kind=BlockKind.PARAGRAPH, start=0, end=len(text), page=3, bbox=(1, 2, 3, 4))
    run = small_run()
    run.all_datasets = [record if d.id == record.id else d for d in run.all_datasets]
    run.stored["parse"] = [Document(id="doc-own", paper_id="p-own", text=text, blocks=(block,))]
    run.stored["section"] = [
        SectionLabel(
            document_id="doc-own", paper_id="p-own", start=0, end=len(text), heading="", heading_path=(),
            label=SectionClass.NONE, decided_by="rule",
        )
    ]  # fmt: skip
    run.stored["match"] = [Link(dataset_id=record.id, paper_id="p-own", found_by=OWN, used=True)]
    at = record.text.index(said[1])
    cited = Span(document_id=record.id, start=at, end=at + len(said[1]), text=said[1])
    read = record_passage(record)
    grade = Grade(passage_id=read.id, document_id=record.id, start=read.start, end=read.end, grade=2)
    sought = {"evidence": (cited,), "asked": "seeking", "grades": (grade,)}
    run.all_pairs = [p.model_copy(update=sought) if p.dataset_id == record.id else p for p in run.all_pairs]
    release = write(run, tmp_path / "release")
    [document] = [d for d in release.corpus() if d.id == record.id]
    [passage] = [p for p in release.passages() if p.document_id == record.id]
    evidence = [e for row in release.rows() for e in row.evidence if e.document_id == record.id]
    assert {(e.page, tuple(e.bbox)) for e in evidence} == {(3, (1, 2, 3, 4))}
    assert {document.metadata[e.start : e.end] for e in evidence} == {said[1]}
    assert {passage.text[p.start : p.end] for e in evidence for p in e.places} == {said[1]}
    rows = [row for row in release.rows() if row.dataset_id == record.id]
    assert rows and all(release.passage_qrels(r.split)[r.id] == {read.id: 2} for r in rows)
    assert all(r.passages == (read.id,) for r in rows) and passage.id == read.id
    whole = licence == "cc-by-4.0"
    assert passage.whole == whole and (said[0] in passage.text) == whole
    assert document.text == (" ".join(said) if whole else said[1])
    assert any(said[0] in f.read_text() for f in (tmp_path / "release/corpus").iterdir()) == whole


def test_pairs_are_read_for_the_places_of_their_evidence_only_if_a_record_is_made_of_a_paper():
    reads = []
    for links in ((), (Link(dataset_id="ds-002", paper_id="p-own", found_by=OWN, used=True),)):
        run, count = small_run(), []
        run.stored["match"] += links
        run.pairs = lambda run=run, count=count: (count.append(1), iter(run.all_pairs))[1]
        from_run(run, info())
        reads.append(len(count))
    assert reads[0] < reads[1]
