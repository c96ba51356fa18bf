"""One settings model per stage. A fingerprint includes a whole section, except fields marked ``fingerprint=False`` with
a reason."""

from __future__ import annotations

from math import isclose
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.config import JsonDict

NOT_FINGERPRINTED: JsonDict = {"fingerprint": False}
"""``json_schema_extra`` of a field that changes when or whether something is done, but not its result."""


class Section(BaseModel):
    """Base of all config sections: immutable, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def fingerprinted(value: object) -> object:
    """Return the part of a config section that enters a stage's fingerprint: all fields except those marked
    `NOT_FINGERPRINTED`."""
    if not isinstance(value, BaseModel):
        return value
    fields = type(value).model_fields
    left_out = {name for name, field in fields.items() if field.json_schema_extra == NOT_FINGERPRINTED}
    return value.model_dump(mode="json", exclude=left_out)


class HttpConfig(Section):
    """HTTP access to catalogues and paper services. These settings do not change what the services answer."""

    contact: str | None = Field(
        default=None,
        description="your e-mail address, sent to services that ask for one (OpenAlex, Unpaywall, DataCite)",
    )
    requests_per_second: float | None = Field(
        default=None, gt=0, description="rate of requests to each host; None: the rate that the service asks for"
    )
    retries: int = Field(default=5, ge=0, description="number of retries after a temporary error")
    timeout_s: float = Field(default=30.0, gt=0, description="time limit for waiting without receiving a byte")
    max_wait_s: float = Field(default=120.0, ge=0, description="upper limit for Retry-After")
    cache_days: float = Field(default=30.0, ge=0, description="replies are requested again after this time; 0: always")
    max_file_mb: float = Field(default=100.0, gt=0, description="largest download")
    max_file_s: float = Field(default=300.0, gt=0, description="time limit for a whole download")
    allow_private_addresses: bool = Field(
        default=False, description="also allow this machine and its network (for your own mirror)"
    )


class SourceDefaults(Section):
    """Settings of a domain that apply if a source is chosen."""

    options: dict[str, object] = {}
    papers_from: tuple[str, ...] = ()


class CollectConfig(Section):
    """Stage 1. ``source`` is a registered source; ``options`` are passed to it."""

    source: str = Field(default="local", description="catalogue adapter; unset: the domain's own")
    options: dict[str, object] = Field(default={}, description="the adapter's own settings")
    records: str = Field(
        default="",
        description="dotted keys of the list of records in JSON files (data.items); empty: detected automatically",
    )
    # Not fingerprinted: it is part of a page's key, so raising it leaves the rest of the run unchanged.
    limit: int | None = Field(
        default=None, ge=1, description="largest number of datasets", json_schema_extra={"fingerprint": False}
    )
    # Not fingerprinted: it decides when the catalogue is read, not its content.
    refresh: bool = Field(
        default=False,
        description="read the catalogue again even if it looks unchanged, without cached replies of services",
        json_schema_extra={"fingerprint": False},
    )
    most_datasets: int = Field(
        default=100_000, ge=1, description="a catalogue ends after this many datasets, so that none is endless"
    )
    papers_per_dataset: int = Field(default=20, ge=0, description="largest number of papers of a dataset")
    papers_from: tuple[str, ...] = Field(
        default=(),
        description="paper services to ask in addition to the source, in this order (openalex, unpaywall, ...)",
    )
    datasets_from_papers: bool = Field(
        default=False,
        description="with papers alone: also make records of the datasets that they name by DOI, address or title, "
        "looked up at DataCite",
    )
    sources: dict[str, SourceDefaults] = Field(
        default={}, description="by source: default options and paper services if the source is chosen"
    )
    paper_options: dict[str, dict[str, object]] = Field(
        default={}, description="options of the paper services, by name"
    )
    http: HttpConfig = HttpConfig()
    ids: tuple[str, ...] = Field(default=(), description="use only the datasets with these ids or DOIs")
    licences: tuple[str, ...] = Field(
        default=(),
        description="keep only datasets and papers under these licences; empty: all. Name 'unknown' to keep those "
        "without a stated licence",
    )


class ParseConfig(Section):
    """Stage 2. The limits are fingerprinted: they decide which papers are set aside."""

    parser: str = Field(
        default="auto", description="auto (chosen by the file's content), or a registered parser for all files"
    )
    # Not fingerprinted: stage parse adds the reader that is in use, with its version.
    reader: Literal["auto", "pdfium", "pymupdf"] = Field(
        default="auto",
        description="library that opens PDFs; auto: PyMuPDF if it is installed, otherwise pdfium",
        json_schema_extra={"fingerprint": False},
    )
    timeout_s: float = Field(default=120.0, gt=0, description="time limit for one file; ten times as long with ocr")
    memory_mb: int = Field(
        default=2048, ge=64, description="memory that one file may use in addition to the parser itself"
    )
    # Not fingerprinted: the number of files parsed in parallel does not change a document.
    workers: int = Field(
        default=2, ge=1, description="number of parser processes", json_schema_extra={"fingerprint": False}
    )
    no_extract: Literal["refuse", "parse"] = Field(
        default="refuse", description="what to do with PDFs whose owner forbids text extraction"
    )
    tables: Literal["cells", "skip"] = Field(
        default="cells", description="cells: statements and questions may cite the cells of tables; skip: they may not"
    )
    ocr: bool = Field(default=False, description="read scanned pages with Tesseract, if it is installed")
    ocr_language: str = Field(default="eng", description="Tesseract's language codes, such as eng+por")
    # Not fingerprinted: the server's address does not change its answers.
    grobid_url: str = Field(
        default="",
        description="address of a GROBID server, which then also reads PDFs with parser: auto (default with parser: "
        "grobid: http://localhost:8070)",
        json_schema_extra={"fingerprint": False},
    )


class SectionConfig(Section):
    """Stage 3."""

    use_model: bool = Field(default=True, description="ask the generator about headings that the rules leave open")


class MatchConfig(Section):
    """Stage 4. ``strategy`` is a registered match strategy."""

    strategy: str = Field(default="auto", description="name of the rule that links papers to datasets")
    when_unsure: Literal["keep", "drop"] = Field(
        default="drop", description="verdict on a paper if the model calls its use of the dataset unclear"
    )


class QuotaConfig(Section):
    """A target for the whole run: exactly ``total`` rows, or a shortfall with the reason for each cell.

    ``types`` and ``bloom`` are weights, not counts; types and levels that a given mix omits get nothing.
    """

    total: int | None = Field(
        default=None, ge=1, description="number of accepted rows wanted; none: keep all accepted rows"
    )
    types: dict[str, float] = Field(default={}, description="weights of question types; empty: all equal")
    bloom: dict[str, float] = Field(default={}, description="weights of C1..C6; empty: any level")
    no_share: float = Field(default=0.5, ge=0, le=1, description="share of No among yes-or-no questions")
    max_rounds: int = Field(default=3, ge=0, description="rounds of generating more after the first pass")
    candidates: int | None = Field(
        default=None,
        ge=1,
        description="total number of candidates, known items and answers to questions asked first, rejected ones too; "
        "the first pass may have more; none: four times the total",
    )


class AskConfig(Section):
    """Step ask: questions of people who have not read the text."""

    questions_per_subject: int = Field(
        default=8,
        ge=1,
        description="questions a call asks about each dataset and each paper, if generate.mix has them",
    )


class SearchConfig(Section):
    """Step search: the passages that are read to answer a question."""

    depth: int = Field(
        default=20, ge=1, description="passages taken from each search for a question; of records, two and a half times"
    )
    # Not fingerprinted: the digest of what is searched is.
    corpus: str = Field(
        default="",
        description="folder of a corpus to search instead of what this run reads, for parts that are merged later "
        "(scirgen merge --corpus)",
        json_schema_extra=NOT_FINGERPRINTED,
    )
    # Not fingerprinted: the hash of the model's files is fingerprinted instead.
    encoder: str = Field(
        default="",
        description="st:MODEL_OR_DIR, an embedding model that searches beside BM25; empty: none",
        json_schema_extra=NOT_FINGERPRINTED,
    )


class GenerateConfig(Section):
    """Stage 7."""

    off: bool = Field(default=False, description="make no question-answer pairs, for a run of other steps only")
    strategy: str = Field(default="auto", description="name of the generation strategy; auto: by the model")
    types: tuple[str, ...] = Field(
        default=(),
        description="question types of known items; empty: the types that suit the model's prompt pack (standard: all; "
        "small: those that the taxonomy marks); 'all': all",
    )
    pairs_per_type: int = Field(
        default=3,
        ge=1,
        description="pairs of each type about the papers of a dataset; a paper that several datasets use is asked "
        "about once",
    )
    pairs_about_data: int = Field(
        default=2, ge=0, description="pairs of each type about the data themselves, for datasets with a usable paper"
    )
    types_without_paper: int = Field(
        default=8, ge=1, description="number of types chosen for a dataset without a usable paper, one pair each"
    )
    types_per_call: int = Field(
        default=18,
        ge=1,
        description="largest number of types per call, for strategies that write several at once; a call does not see "
        "the questions of another, so a lower number gives more rows that ask nearly the same; lower it for a model "
        "that writes short replies",
    )
    mix: dict[Literal["seeking", "known_item"], float] = Field(
        default={"seeking": 0.7, "known_item": 0.3},
        description="shares of released rows by the origin of their question. seeking: written by somebody who has not "
        "read the text, then answered from everything read; known_item: written from a known answer, also if nothing "
        "read answers what was asked; models that need the small prompts write only these",
    )
    # Not fingerprinted: they decide what is asked, and each item has its own part of them.
    about: Annotated[int, Field(ge=1)] | str | tuple[str, ...] = Field(
        default=(),
        description="datasets to make pairs about: ids or DOIs, a file with one per line, or a number of them, drawn "
        "evenly by the seed; empty: all. All others are only read and searched",
        json_schema_extra=NOT_FINGERPRINTED,
    )
    questions: str = Field(
        default="",
        description="file of your own questions, to be answered from what is read: one per line, or JSON Lines with "
        "question and, if you like, id and wants (answer or data)",
        json_schema_extra=NOT_FINGERPRINTED,
    )
    like: str = Field(
        default="",
        description="file of questions, in the form of generate.questions, whose style the writer imitates",
        json_schema_extra=NOT_FINGERPRINTED,
    )
    # Not fingerprinted: a target decides the cells of later rounds (parameters of their items) and what release keeps;
    # the stage's definitions have the types that it chooses for the first round.
    quota: QuotaConfig = Field(default=QuotaConfig(), json_schema_extra={"fingerprint": False})

    @model_validator(mode="after")
    def _makes_something(self) -> Self:
        shares, others = self.mix.values(), self.questions or self.off
        if min(shares, default=0) < 0 or not (isclose(sum(shares), 1) or (others and not any(shares))):
            raise ValueError("mix: shares from 0 to 1 that sum to 1, such as {seeking: 0.7, known_item: 0.3}")
        return self

    @property
    def asks(self) -> bool:
        """True if questions are asked before their answers are known."""
        return bool(self.mix.get("seeking") or self.questions) and not self.off


class GateOptions(Section):
    """Options of one gate; an option that is not set keeps the gate's default."""

    enabled: bool | None = Field(default=None, description="overrides whether the gate is on by default")
    threshold: float | None = Field(default=None, description="threshold; the gate's explanation says what it means")


class FilterConfig(Section):
    """Stage 8. ``thresholds`` are per faithfulness scorer and question type, for values from calibration."""

    gates: tuple[str, ...] = Field(
        default=(), description="empty: scirgen's gates that are on by default, and plugins' that the settings name"
    )
    gate_options: dict[str, GateOptions] = Field(default={}, description="gate code -> its options")
    faithfulness: tuple[str, ...] = Field(
        default=("auto",),
        description="scorers, in order; empty: none; auto: shift; calibrated, if coefficients fit the scorer; and, if "
        "the judge uses the standard prompts, llm_judge on every pair. With llm_judge the others only doubt, and the "
        "judge looks again",
    )
    unsure: Literal["keep", "reject"] = Field(
        default="keep",
        description="what happens to pairs that neither scores nor judge decide; kept ones have unsure: true",
    )
    window: Literal["full", "evidence"] = Field(
        default="evidence",
        description="score against the pair's evidence (the whole context if it has none), or the whole context",
    )
    shift_form: Literal["mean", "relative"] = Field(
        default="relative", description="formula of the shift (mean: the paper's); see docs/seper.md"
    )
    second_reader: float = Field(
        default=0.1,
        ge=0,
        le=1,
        description="where llm_judge runs: share of the kept pairs whose question a second reader answers from the "
        "evidence alone; the card says how often it disagrees, and at 1 such pairs are rejected. Step answer has this "
        "share of its calls graded again (models.judge, or the same model); the card says the agreement",
    )
    coefficients: str | None = Field(
        default=None,
        description="file of scirgen calibrate --coefficients; none: the built-in one for the scorer",
        json_schema_extra={"fingerprint": False},
    )
    entailment: str = Field(default="", description="URI of the entailment model of nli: hf:, or a plugin's")
    thresholds: dict[str, dict[str, float | tuple[float, float]]] = Field(
        default={},
        description="scorer -> question type (or '*' for all others) -> threshold, or two: a pair is rejected at or "
        "below the first, kept above the second, and unsure between them; scirgen calibrate --save writes them",
    )


class TagConfig(Section):
    """Stage 9."""

    batch_size: int = Field(
        default=60, ge=1, description="pairs per call; each call repeats the definitions of the levels"
    )


class AboutConfig(Section):
    """Facts that only the publisher knows, for the dataset card and the datasheet, which show empty fields as "not
    stated"."""

    creator: str = Field(default="", description="who created the dataset, and on whose behalf")
    funder: str = Field(default="", description="who funded it")
    contact: str = Field(default="", description="who maintains it, and how they can be reached")
    licence: str = Field(default="", description="licence of the questions and answers themselves")
    collected: str = Field(default="", description="when the catalogue and the papers were read")
    people: str = Field(default="", description="confidential or personal content, as far as known")
    ethics: str = Field(default="", description="review by an ethics board")
    used_for: str = Field(default="", description="uses of the dataset so far")
    restrictions: str = Field(default="", description="export controls or other restrictions")
    updates: str = Field(default="", description="whether it will be updated")


class ReleaseConfig(Section):
    """Stage 10. ``ratios`` are train, dev, test."""

    name: str = Field(
        default="",
        pattern=r"^([A-Za-z0-9][A-Za-z0-9._-]*)?$",
        description="name of the release on its card and in its metadata; empty: DOMAIN-qa",
    )
    ratios: tuple[float, float, float] = Field(
        default=(0.80, 0.15, 0.05), description="shares of rows of train, dev and test"
    )
    formats: tuple[str, ...] = Field(default=("jsonl",), description="names of the release formats to write")
    # Not fingerprinted: the hash of the files' content is fingerprinted instead of their paths.
    decontaminate: tuple[str, ...] = Field(
        default=(),
        description="question-answer sets (JSON Lines, BEIR, ScIRGen-Geo, a release) whose questions must not be in "
        "the release",
        json_schema_extra={"fingerprint": False},
    )
    decontaminate_words: int = Field(
        default=13, ge=3, description="number of consecutive words that counts as overlap with one of them"
    )
    # Not fingerprinted: the hash of the model's files is fingerprinted instead.
    duplicates_model: str = Field(
        default="",
        description="st:MODEL_OR_DIR, an embedding model that also finds paraphrased near-duplicates and answers that "
        "agree",
        json_schema_extra={"fingerprint": False},
    )
    duplicates_similarity: float = Field(
        default=0.95, gt=0, le=1, description="cosine from which two questions of one type count as the same"
    )
    # Not fingerprinted: the hash of the labels is fingerprinted instead of their folders.
    labels: tuple[str, ...] = Field(
        default=(),
        description="folders of labels by people (scirgen label): rows that they found unfaithful are left out, and "
        "their corrections are used",
        json_schema_extra={"fingerprint": False},
    )
    about: AboutConfig = AboutConfig()
