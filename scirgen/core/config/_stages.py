"""One settings model a stage. All of a section is fingerprinted, except fields marked ``fingerprint=False``, with why."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

NOT_FINGERPRINTED: JsonDict = {"fingerprint": False}
"""``json_schema_extra`` of a field that changes when or whether something is done, never what comes out."""


class Section(BaseModel):
    """Base of all config sections: immutable, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def fingerprinted(value: object) -> object:
    """What of a config section enters a stage's fingerprint: all but the fields marked `NOT_FINGERPRINTED`."""
    if not isinstance(value, BaseModel):
        return value
    fields = type(value).model_fields
    left_out = {name for name, field in fields.items() if field.json_schema_extra == NOT_FINGERPRINTED}
    return value.model_dump(mode="json", exclude=left_out)


class HttpConfig(Section):
    """How catalogues and paper services are talked to. None of it changes what they answer."""

    contact: str | None = Field(
        default=None, description="e-mail address sent to services that ask for one (OpenAlex, Unpaywall, DataCite)"
    )
    requests_per_second: float | None = Field(
        default=None, gt=0, description="to each host; None: what the service asks"
    )
    retries: int = Field(default=5, ge=0, description="of a request that failed in a way that may pass")
    timeout_s: float = Field(default=30.0, gt=0, description="without a byte from the server")
    max_wait_s: float = Field(default=120.0, ge=0, description="longest Retry-After that is waited for")
    cache_days: float = Field(default=30.0, ge=0, description="replies are asked for again after this; 0: always")
    max_file_mb: float = Field(default=100.0, gt=0)
    max_file_s: float = Field(default=300.0, gt=0, description="time a download may take in all")
    max_redirects: int = Field(default=5, ge=0)
    allow_private_addresses: bool = Field(
        default=False, description="also talk to this machine and its network (a mirror of your own)"
    )


class SourceDefaults(Section):
    """What a domain sets for one source, should it be chosen."""

    options: dict[str, object] = {}
    papers_from: tuple[str, ...] = ()


class CollectConfig(Section):
    """Stage 1. ``source`` is a registered source; ``options`` are passed to it."""

    source: str = "local"
    options: dict[str, object] = {}
    records: str = Field(
        default="", description="dotted keys of the list of records in JSON files (data.items); empty: found by itself"
    )
    # Not fingerprinted: it is part of a page's key, so that raising it leaves the rest of the run as it is.
    limit: int | None = Field(
        default=None, ge=1, description="at most this many datasets", json_schema_extra={"fingerprint": False}
    )
    # Not fingerprinted: it says when the catalogue is read, not what is in it.
    refresh: bool = Field(
        default=False,
        description="read the catalogue again, though nothing shows that it changed; cached replies of services are not used",
        json_schema_extra={"fingerprint": False},
    )
    papers_per_dataset: int = Field(default=20, ge=0)
    papers_from: tuple[str, ...] = Field(
        default=(), description="paper services asked beside the source, in this order (openalex, unpaywall, ...)"
    )
    sources: dict[str, SourceDefaults] = Field(
        default={}, description="by source: options and paper services that hold when it is chosen and none are given"
    )
    paper_options: dict[str, dict[str, object]] = Field(default={}, description="options of these services, by name")
    http: HttpConfig = HttpConfig()
    ids: tuple[str, ...] = Field(default=(), description="only the datasets with these ids or DOIs")
    licences: tuple[str, ...] = Field(
        default=(),
        description="keep only datasets and papers under these; empty: all. Unknown is kept only as 'unknown'",
    )


class ParseConfig(Section):
    """Stage 2. The limits are fingerprinted: they decide which papers are set aside."""

    parser: str = Field(default="auto", description="auto: by the file's content; or a registered parser for all files")
    timeout_s: float = Field(default=120.0, gt=0, description="for one file; with ocr, ten times that")
    memory_mb: int = Field(default=2048, ge=64, description="what one file may take beyond the parser itself")
    # Not fingerprinted: how many files are parsed at a time changes no document.
    workers: int = Field(default=2, ge=1, json_schema_extra={"fingerprint": False})
    no_extract: Literal["refuse", "parse"] = Field(
        default="refuse", description="PDFs whose owner forbids taking text out of them"
    )
    # Not fingerprinted: a secret's place; the passwords themselves are never stored.
    password_env: str = Field(
        default="SCIRGEN_PDF_PASSWORD",
        description="environment variable with the passwords of encrypted PDFs, one a line",
        json_schema_extra={"fingerprint": False},
    )
    tables: Literal["skip", "cite"] = Field(
        default="skip", description="cite: PDF tables become Markdown that statements and questions may cite; slower"
    )
    ocr: bool = Field(default=False, description="read scanned pages with Tesseract, where it is installed")
    ocr_language: str = Field(default="eng", description="Tesseract's language codes, such as eng+por")
    # Not fingerprinted: where the server stands does not change what it answers.
    grobid_url: str = Field(
        default="",
        description="address of a GROBID server; with parser: auto PDFs are read by it, too (parser: grobid alone: http://localhost:8070)",
        json_schema_extra={"fingerprint": False},
    )


class SectionConfig(Section):
    """Stage 3."""

    use_model: bool = True
    max_calls: int = Field(
        default=60, ge=0, description="model calls for one paper, at most; the rules decide about its further headings"
    )


class MatchConfig(Section):
    """Stage 4. ``strategy`` is a registered match strategy."""

    strategy: str = "auto"
    evidence_sentences: int = Field(default=12, ge=1, description="sentences shown to the model, at most")
    when_unsure: Literal["keep", "drop"] = Field(
        default="drop", description="what a paper is whose use of the dataset the model calls unclear"
    )


class ExtractConfig(Section):
    """Stage 5. The last two are for small models, which see single sentences."""

    max_tokens_per_call: int = Field(default=3000, ge=200, description="of a section's text; longer ones are cut")
    sentences_per_aspect: int = Field(default=10, ge=1, description="kept by rule, for each aspect of a section")
    calls_per_section: int = Field(default=2, ge=0, description="questions about sentences the rules leave open")


class VerifyConfig(Section):
    """Stage 6. ``calls_per_paper`` and ``aspects_per_category`` are for small models."""

    calls_per_paper: int = Field(default=4, ge=0, description="questions about sentences the rules leave open")
    aspects_per_category: int = Field(default=8, ge=1, description="kept for one dataset and paper, best first")


class QuotaConfig(Section):
    """A target for the whole run: "exactly ``total`` rows, or an honest shortfall with the reason a cell".

    ``types`` and ``bloom`` are weights, not counts; what is left out of a given mix gets nothing.
    """

    total: int | None = Field(default=None, ge=1, description="accepted rows wanted; none: keep whatever is accepted")
    types: dict[str, float] = Field(default={}, description="weights of question types; empty: all alike")
    bloom: dict[str, float] = Field(default={}, description="weights of C1..C6; empty: any level")
    no_share: float = Field(default=0.5, ge=0, le=1, description="share of No among yes-or-no questions")
    max_rounds: int = Field(default=3, ge=0, description="rounds of generating more after the first pass")
    candidates: int | None = Field(
        default=None, ge=1, description="candidates in all, rejected ones included; none: four times the total"
    )


class QueryConfig(Section):
    """Retrieval queries beside the questions; see docs/recipes.md."""

    recipes: tuple[str, ...] = Field(default=(), description="recommend, facets, aspects or a plugin's; empty: none")
    only: bool = Field(default=False, description="make no question-answer pairs, only retrieval queries")
    composite: bool = Field(
        default=True, description="aspects: also one need from two or three papers that share a dataset"
    )
    attempts: int = Field(default=2, ge=1, description="aspects: drafts that are asked for until one passes its checks")
    words: tuple[int, int] = Field(default=(95, 226), description="aspects: least and most words of a need")
    sub_query_aspects: int = Field(default=2, ge=1, description="aspects: how many aspects a sub-query joins")
    require_review: bool = Field(
        default=True,
        description="aspects: only a need that a person has passed is graded",
        json_schema_extra={"fingerprint": False},
    )


class GenerateConfig(Section):
    """Stage 7."""

    strategy: str = "auto"
    types: tuple[str, ...] = Field(
        default=(),
        description="question types; empty: those that suit the model's prompt pack (standard: all; small: those that the "
        "taxonomy marks); 'all': all",
    )
    pairs_per_type: int = Field(
        default=3,
        ge=1,
        description="about the papers of a dataset; a paper that several datasets use is asked about once",
    )
    pairs_about_data: int = Field(
        default=2, ge=0, description="of each type about the data themselves, for datasets with a usable paper"
    )
    types_without_paper: int = Field(
        default=8, ge=1, description="types chosen for a dataset without one, one pair each"
    )
    types_per_call: int = Field(
        default=8, ge=1, description="types that a strategy which writes several at once may ask for in one call"
    )
    evidence: Literal["numbers", "quotes"] = Field(
        default="numbers",
        description="how a reply cites what it stands on: by the lines' numbers, or by quotations that must be found word "
        "for word (for models that number badly)",
    )
    # Not fingerprinted: a target decides which cells later rounds are given (their items' parameters) and what release keeps.
    quota: QuotaConfig = Field(default=QuotaConfig(), json_schema_extra={"fingerprint": False})


class GateOptions(Section):
    """Options of one gate; what is left out keeps the gate's own default."""

    enabled: bool | None = Field(default=None, description="overrides whether the gate is on by default")
    threshold: float | None = Field(default=None, description="what it means is in the gate's explanation")
    maximum: float | None = Field(default=None, description="upper bound, for gates that have two")


class FilterConfig(Section):
    """Stage 8. ``thresholds`` are per faithfulness scorer and question type, where calibration gave better ones."""

    gates: tuple[str, ...] = Field(default=(), description="empty: all registered gates that are on by default")
    gate_options: dict[str, GateOptions] = Field(default={}, description="gate code -> its options")
    # Not fingerprinted: the hash of what is in the folder is, instead of its path.
    type_tagger: str | None = Field(
        default=None,
        description="folder of a type classifier (scirgen tagger train --target question_type); none: no second opinion",
        json_schema_extra={"fingerprint": False},
    )
    faithfulness: tuple[str, ...] = Field(
        default=("auto",),
        description="scorers, in order; empty: none; auto: the ensemble where one fits the scorer, else shift; contrast; "
        "and llm_judge on what passes where the generator follows the standard prompts",
    )
    combine: Literal["all", "any"] = Field(default="all", description="how several scorers decide together")
    window: Literal["full", "evidence", "max"] = Field(
        default="evidence",
        description="score against the pair's evidence (the whole context where it has none), the whole context, or the best of "
        "several passages",
    )
    shift_form: Literal["mean", "relative", "discounted"] = Field(
        default="relative", description="formula of the shift (mean: the paper's); see docs/seper.md"
    )
    contrast_most: int = Field(default=8, ge=1, description="alternatives of an answer that contrast compares it with")
    contrast_prior: float = Field(
        default=0.5, ge=0, le=1, description="share of an answer's likelihood without evidence that contrast takes off"
    )
    rival_batch: int = Field(default=20, ge=1, description="questions that one call of rival answers again")
    judge_batch: int = Field(default=10, ge=1, description="pairs that one call of llm_judge decides about")
    ensemble: str | None = Field(
        default=None,
        description="file of scirgen calibrate --ensemble; none: the one that ships for the scorer",
        json_schema_extra={"fingerprint": False},
    )
    semantic_samples: int = Field(default=10, ge=1, description="responses sampled each way by semantic SePer")
    semantic_tokens: int = Field(default=128, ge=1, description="tokens of a sampled response, at most")
    entailment: str = Field(
        default="", description="URI of the entailment model of nli and semantic: hf:, score:, lexical:"
    )
    threshold: float | None = Field(
        default=None,
        description="keep when the score is above it, in the unit of the score's form; "
        "empty: the scorer's own (shift: 0.1 in relative form, else 0)",
    )
    thresholds: dict[str, dict[str, float]] = Field(
        default={},
        description="scorer -> question type (or '*' for all others) -> threshold, instead of ``threshold``; "
        "scirgen calibrate --save writes them",
    )


class TagConfig(Section):
    """Stage 9."""

    batch_size: int = Field(default=30, ge=1, description="pairs a call; the levels' definitions are repeated in each")
    # Not fingerprinted: the hash of what is in the folder is, instead of its path.
    tagger: str | None = Field(
        default=None,
        description="folder of a local tagger (scirgen tagger train); none: the generator tags",
        json_schema_extra={"fingerprint": False},
    )
    # Not fingerprinted by the section: the stage adds it where it is set, so that leaving it empty redoes nothing.
    translate_to: tuple[str, ...] = Field(
        default=(),
        description="languages (zh, pt, ...) the generator translates accepted pairs into; empty: none",
        json_schema_extra={"fingerprint": False},
    )


class AboutConfig(Section):
    """What only the publisher knows, for the dataset card and the datasheet; what is left empty is "not stated" there."""

    creator: str = Field(default="", description="who created the dataset, and on whose behalf")
    funder: str = Field(default="", description="who funded it")
    contact: str = Field(default="", description="who maintains it, and how they can be reached")
    licence: str = Field(default="", description="licence of the questions and answers themselves")
    collected: str = Field(default="", description="when the catalogue and the papers were read")
    people: str = Field(default="", description="what is known about confidential or personal content")
    ethics: str = Field(default="", description="review by an ethics board")
    used_for: str = Field(default="", description="what it has been used for")
    restrictions: str = Field(default="", description="export controls or other restrictions")
    updates: str = Field(default="", description="whether it will be updated")


class ReleaseConfig(Section):
    """Stage 10. ``ratios`` are train, dev, test."""

    name: str = Field(
        default="",
        pattern=r"^([A-Za-z0-9][A-Za-z0-9._-]*)?$",
        description="what the release is called on its card and in its metadata; empty: DOMAIN-qa",
    )
    ratios: tuple[float, float, float] = (0.80, 0.15, 0.05)
    formats: tuple[str, ...] = ("jsonl",)
    passages: Literal["source", "document"] = Field(
        default="source",
        description="what is cut into passages: each source by itself, or one text a dataset, as ScIRGen has it",
    )
    # Not fingerprinted: the hash of what is in the files is, instead of their paths.
    decontaminate: tuple[str, ...] = Field(
        default=(),
        description="question-answer sets (JSON Lines, BEIR, ScIRGen-Geo, a release) whose questions are left out",
        json_schema_extra={"fingerprint": False},
    )
    decontaminate_words: int = Field(
        default=13, ge=3, description="words in a row that a question or answer may not share with one of them"
    )
    # Not fingerprinted either: the hash of the model's files is, instead of their place.
    decontaminate_model: str = Field(
        default="",
        description="st:MODEL_OR_DIR, an embedding model: questions of theirs in other words are left out too",
        json_schema_extra={"fingerprint": False},
    )
    decontaminate_similarity: float = Field(
        default=0.9, gt=0, le=1, description="cosine from which two questions count as the same"
    )
    # Not fingerprinted: the hash of the model's files is.
    duplicates_model: str = Field(
        default="",
        description="st:MODEL_OR_DIR: near-duplicates and answers that agree are found in other words too",
        json_schema_extra={"fingerprint": False},
    )
    duplicates_similarity: float = Field(
        default=0.95, gt=0, le=1, description="cosine from which two questions of one type count as the same"
    )
    # Not fingerprinted: the hash of the labels is, instead of their folders.
    labels: tuple[str, ...] = Field(
        default=(),
        description="folders of labels by people (scirgen label): what they found unfaithful is left out, their corrections are used",
        json_schema_extra={"fingerprint": False},
    )
    abstracts: Literal["open", "all"] = Field(
        default="open",
        description="tasks: abstracts of papers whose licence admits passing them on, or all (for your own use)",
    )
    # Not fingerprinted: the hash of the grades is.
    judgements: tuple[str, ...] = Field(
        default=(),
        description="folders of `scirgen benchmark pool --task`: their grades become the tasks' qrels",
        json_schema_extra={"fingerprint": False},
    )
    about: AboutConfig = AboutConfig()
