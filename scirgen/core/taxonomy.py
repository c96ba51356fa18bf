"""Taxonomies as data: question types, Bloom levels, aspects, sections. Strict YAML, overridable by a domain."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from scirgen.core.errors import ResourceError
from scirgen.core.files.yamlfile import Pattern, load_model, load_yaml, validate
from scirgen.core.fingerprint import digest, file_sha256
from scirgen.core.records import AspectCategory, Frozen, SectionClass
from scirgen.core.registry import suggest
from scirgen.core.resources import Resources

_T = TypeVar("_T", bound=BaseModel)

ENGLISH = "en"
"""The language of the patterns, stems and examples of ``graesser.yaml``."""


class ExamplePair(Frozen):
    """An in-context example. ``evidence`` is a sentence the answer follows from."""

    question: str
    answer: str
    evidence: str = ""


class QuestionPatterns(Frozen):
    """The form of questions of one type in one language; patterns are case-insensitive regular expressions."""

    any_of: tuple[Pattern, ...] = Field(default=(), description="at least one must match, if any are given")
    none_of: tuple[Pattern, ...] = Field(default=(), description="none may match")
    unmarked: tuple[Pattern, ...] = Field(
        default=(), description="for form question: a text that matches one of these needs no question mark (requests)"
    )
    telling_words: int | None = Field(
        default=None,
        ge=0,
        description="number of words that must say what the question is about, if lower than the default (gate vague)",
    )


class QuestionExpectation(QuestionPatterns):
    """Machine-checkable expectations of a question."""

    form: Literal["question", "statement", "request"] = "question"


class AnswerPatterns(Frozen):
    """The form of answers to one type in one language."""

    any_of: tuple[Pattern, ...] = ()
    none_of: tuple[Pattern, ...] = ()


class AnswerExpectation(AnswerPatterns):
    """Machine-checkable expectations of an answer."""

    kind: Literal["yes_no", "number", "option", "phrase", "text"] = "text"
    min_words: int = 1
    max_words: int = 120


class QuestionType(Frozen):
    """One of the 18 question types of Graesser & Person (1994)."""

    id: str = Field(pattern=r"^\S*$")
    name: str
    definition: str
    answer_form: Literal["short", "long"]
    ask: str = Field(default="", description="instruction for writing the question")
    reply: str = Field(default="", description="instruction for writing the answer")
    stems: tuple[str, ...] = Field(default=(), description="typical beginnings, shown to the model")
    question: QuestionExpectation = QuestionExpectation()
    answer: AnswerExpectation = AnswerExpectation()
    evidence_cues: tuple[Pattern, ...] = Field(
        default=(), description="patterns of sentences that can answer such a question"
    )
    aspects: tuple[AspectCategory, ...] = Field(default=(), description="aspects in which to look for evidence first")
    levels: tuple[str, ...] = Field(default=(), description="Bloom levels to request, most typical first")
    small_models: bool = Field(default=False, description="whether it is requested from small models by default")
    inference: bool = Field(
        default=False,
        description="the answer goes beyond the words of its evidence, which needs to contain only its numbers and "
        "names",
    )
    examples: dict[str, tuple[ExamplePair, ...]] = Field(default={}, description="domain (or 'general') -> examples")

    @cached_property
    def hash(self) -> str:
        """Hash of the whole definition."""
        return digest(self.model_dump(mode="json"))

    def examples_for(self, domain: str) -> tuple[ExamplePair, ...]:
        """Return the domain's examples, or the general ones."""
        return self.examples.get(domain) or self.examples.get("general", ())

    @cached_property
    def polar(self) -> bool:
        """Check whether its answer is yes or no."""
        return self.answer.kind == "yes_no"


UNTYPED = QuestionType(id="", name="no type", definition="Keywords, a plan or a request.", answer_form="long")
"""The type of needs that are not questions."""


class BloomLevel(Frozen):
    """One level of revised Bloom (Anderson & Krathwohl 2001)."""

    id: str = Field(pattern=r"^C[1-6]$")
    name: str
    definition: str
    verbs: tuple[str, ...]


class AspectDefinition(Frozen):
    """One of the six kinds of statements. ``cues`` are patterns that suggest it, used by the small-model pack."""

    id: AspectCategory
    name: str
    definition: str
    sections: tuple[SectionClass, ...] = Field(default=(), description="sections that usually contain such statements")
    cues: tuple[Pattern, ...] = ()


class SectionDefinition(Frozen):
    """A section class; ``headings`` maps a language to patterns over normalised headings."""

    id: SectionClass
    name: str
    definition: str
    headings: dict[str, tuple[Pattern, ...]] = Field(default={})


class TypeWording(Frozen):
    """One question type in one language, with the fields that ``graesser.yaml`` gives for English."""

    stems: tuple[str, ...] = Field(default=(), description="typical beginnings, shown to the model")
    question: QuestionPatterns = QuestionPatterns()
    answer: AnswerPatterns = AnswerPatterns()
    evidence_cues: tuple[Pattern, ...] = Field(default=(), description="patterns of sentences that can answer it")
    examples: tuple[ExamplePair, ...] = Field(default=(), description="shown instead of the English ones")


class LanguageWording(Frozen):
    """Words and patterns of the gates for one language. Patterns are case-insensitive regular expressions."""

    pointing: tuple[Pattern, ...] = Field(default=(), description="phrases that point at a text the reader cannot see")
    pointing_unless_introduced: tuple[Pattern, ...] = Field(
        default=(), description="the same, for phrases that may refer back to something the question has named"
    )
    named: tuple[Pattern, ...] = Field(
        default=(), description="phrases that point at nothing where a name follows: the dataset CHIRPS"
    )
    pointing_answers: tuple[Pattern, ...] = Field(default=(), description="the same, for answers")
    unfinished: tuple[str, ...] = Field(default=(), description="words that do not end a complete question")
    generic_words: tuple[str, ...] = Field(
        default=(),
        description="content words that may occur in any question about data and do not say what it is about",
    )
    pointing_phrases: tuple[Pattern, ...] = Field(
        default=(), description="phrases that an audit counts, but that do not reject a question"
    )
    within: str = Field(default="", description="what puts a dataset's {name} before a question that does not say it")
    affirmative: tuple[str, ...] = ()
    negative: tuple[str, ...] = ()
    placeholders: tuple[Pattern, ...] = Field(default=(), description="answers that say nothing")
    function_words: tuple[str, ...] = Field(default=(), description="frequent words that identify the language")
    opposites: tuple[tuple[str, str], ...] = Field(
        default=(), description="pairs of words that make a true sentence false when swapped"
    )
    contrasts: tuple[tuple[str, str], ...] = Field(
        default=(), description="further pairs for comparing answers; less strict than `opposites`"
    )
    antonyms: tuple[tuple[str, str], ...] = Field(
        default=(), description="further pairs, compared only where the evidence has the other word of a pair"
    )
    absolute: tuple[str, ...] = Field(
        default=(), description="words that allow no exception; evidence rarely says them"
    )
    negating: tuple[str, ...] = Field(default=(), description="words that negate")
    denying: tuple[str, ...] = Field(default=(), description="the negations that reverse the rest of their clause")
    clause_words: tuple[str, ...] = Field(default=(), description="words that begin another clause")
    irregular: dict[str, tuple[str, ...]] = Field(default={}, description="base form of a verb -> its irregular forms")
    discourse: tuple[str, ...] = Field(
        default=(),
        description="words with which an answer refers to itself (suggests, inferred, rests on); they claim nothing",
    )
    directed: tuple[str, ...] = Field(
        default=(), description="words before the second of two compared things (than, from, to)"
    )
    either: tuple[str, ...] = Field(default=(), description="words between the options of a question")
    number_words: dict[str, float] = Field(default={}, description="numbers in words -> value")
    known_abbreviations: tuple[str, ...] = Field(default=(), description="abbreviations that need no explanation")
    stop_words: tuple[str, ...] = Field(default=(), description="words that carry no content when texts are compared")
    capitals: Literal["names", "nouns"] = Field(
        default="names", description="which words a capital letter marks; German writes every noun with one"
    )
    types: dict[str, TypeWording] = Field(
        default={}, description="question type -> its wording; graesser.yaml has the English one"
    )

    orders: tuple[str, ...] = Field(
        default=(), description="patterns of orders to a reader or a program; matching pairs are never sure"
    )

    @cached_property
    def stop(self) -> frozenset[str]:
        """`stop_words` as a set, for lookups."""
        return frozenset(self.stop_words)

    @cached_property
    def base_forms(self) -> dict[str, str]:
        """`irregular` inverted: form -> base form."""
        return {form: base for base, forms in self.irregular.items() for form in forms}

    @cached_property
    def unclaiming(self) -> frozenset[str]:
        """Words without content: `stop_words` and `discourse`."""
        return self.stop | frozenset(self.discourse)


_NO_WORDING = LanguageWording()


class Wording(Frozen):
    """Words and patterns of the gates, by language."""

    version: int
    sources: tuple[str, ...]
    languages: dict[str, LanguageWording]

    def of(self, language: str) -> LanguageWording:
        """Return the wording of a language, or an empty one if the file has none."""
        found = self.languages.get(language) or self.languages.get(language.split("-")[0].lower())
        return found if found is not None else _NO_WORDING

    @cached_property
    def languages_of_words(self) -> dict[str, tuple[str, ...]]:
        """Function word -> the languages that use it."""
        found: dict[str, tuple[str, ...]] = {}
        for language, wording in self.languages.items():
            for word in dict.fromkeys(wording.function_words):
                found[word] = (*found.get(word, ()), language)
        return found


def _in_language(kind: QuestionType, language: str, wording: Wording) -> QuestionType:
    """Return the type with the wording of a language in place of the English one."""
    code = language.split("-")[0].lower()
    if code == ENGLISH:
        return kind
    own = wording.of(language).types.get(kind.id, TypeWording())
    # A Chinese or Japanese character counts as a word, and a text takes about twice as many of them.
    longest = kind.answer.max_words * (2 if code in ("zh", "ja") else 1)
    asked = {k: v for k, v in own.question.model_dump().items() if k != "telling_words" or v is not None}
    return kind.model_copy(
        update={
            "stems": own.stems,
            "question": kind.question.model_copy(update=asked),
            "answer": kind.answer.model_copy(update={**own.answer.model_dump(), "max_words": longest}),
            "evidence_cues": own.evidence_cues,
            "examples": {**kind.examples, "general": own.examples} if own.examples else kind.examples,
        }
    )


class _Graesser(Frozen):
    version: int
    sources: tuple[str, ...]
    types: tuple[QuestionType, ...]


class _Bloom(Frozen):
    version: int
    sources: tuple[str, ...]
    tie_breaking: str
    levels: tuple[BloomLevel, ...]


class _Aspects(Frozen):
    version: int
    sources: tuple[str, ...]
    aspects: tuple[AspectDefinition, ...]


class _Sections(Frozen):
    version: int
    sources: tuple[str, ...]
    sections: tuple[SectionDefinition, ...]


class _AnyTaxonomy(BaseModel):
    model_config = ConfigDict(extra="allow")


class Taxonomies:
    """All taxonomies of a run, loaded on first use."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._spoken: dict[tuple[str, str], QuestionType] = {}
        self._loaded: dict[tuple[str, type[BaseModel]], Any] = {}

    @cached_property
    def graesser(self) -> _Graesser:
        """Question types, in the file's order."""
        return self.load("graesser", _Graesser)

    @cached_property
    def bloom(self) -> _Bloom:
        """C1..C6."""
        return self.load("bloom", _Bloom)

    @cached_property
    def aspects(self) -> _Aspects:
        """The six aspects."""
        return self.load("aspects", _Aspects)

    @cached_property
    def sections(self) -> _Sections:
        """The five section classes and none."""
        return self.load("sections", _Sections)

    @cached_property
    def wording(self) -> Wording:
        """Words and patterns of the gates."""
        return self.load("wording", Wording)

    def question_types(self, ids: Sequence[str] = (), language: str = ENGLISH) -> tuple[QuestionType, ...]:
        """Return the types with the given ids, or all types if none is given, with the wording of a language."""
        return tuple(self.question_type(id, language) for id in ids or [t.id for t in self.graesser.types])

    def wanted_types(self, ids: Sequence[str], pack: str, language: str = ENGLISH) -> tuple[QuestionType, ...]:
        """Return the types that ``generate.types`` selects for a prompt pack, with the wording of a language.

        Args:
            ids: question types; ``("all",)``: all; empty: those that suit the pack.
            pack: "standard" or "small".
            language: of the questions.
        """
        if ids and tuple(ids) != ("all",):
            return self.question_types(ids, language)
        kinds = self.question_types((), language)
        few = tuple(k for k in kinds if k.small_models)
        return few if pack == "small" and not ids and few else kinds

    def question_type(self, id: str, language: str = ENGLISH) -> QuestionType:
        """Return one question type by id, with the patterns, stems and examples of a language.

        ``graesser.yaml`` holds those of English, ``wording.yaml`` those of the other languages. In a language without
        them, a type has no patterns and accepts every wording. An empty id is `UNTYPED`.

        Raises:
            ResourceError: no entry has that id.
        """
        if not id:
            return UNTYPED
        if (id, language) in self._spoken:
            return self._spoken[id, language]
        known = {kind.id: kind for kind in self.graesser.types}
        if id not in known:
            raise ResourceError(f"unknown question type {id!r}", hint=suggest(id, known))
        found = known[id]
        return self._spoken.setdefault((id, language), _in_language(found, language, self.wording))

    def names(self) -> list[str]:
        """Return the names of all taxonomy files, those of plugins among them."""
        return sorted(self._resources.find("taxonomies"))

    def hash(self, name: str) -> str:
        """Return the content hash of one taxonomy, also of a plugin's."""
        loaded: BaseModel = getattr(self, name) if hasattr(type(self), name) else self.load(name, _AnyTaxonomy)
        return digest(loaded.model_dump(mode="json"))

    @cached_property
    def fingerprint(self) -> str:
        """Hash of all taxonomy files in use, byte for byte."""
        folders = [(origin, root / "taxonomies") for origin, root in self._resources.layers()]
        files = [(origin, path) for origin, folder in folders for path in sorted(folder.glob("*.yaml"))]
        return digest([(origin, path.name, file_sha256(path)) for origin, path in files])

    def load(self, name: str, model: type[_T]) -> _T:
        """Return a taxonomy of a plugin, from ``taxonomies/NAME.yaml`` in its folder and the layers above.

        Raises:
            ResourceError: there is no such file, or it does not fit the model.
        """
        if (name, model) not in self._loaded:
            layers = [root / "taxonomies" / f"{name}.yaml" for _, root in self._resources.layers()]
            match [path for path in layers if path.is_file()]:
                case []:
                    raise ResourceError(f"there is no taxonomies/{name}.yaml", hint="Reinstall scirgen.")
                case [path]:
                    self._loaded[name, model] = load_model(path, model, shipped=path == layers[0])
                case several:
                    self._loaded[name, model] = _overlay(several, model)
        found: _T = self._loaded[name, model]
        return found


def _overlay(layers: Sequence[Path], model: type[_T]) -> _T:
    """Merge layers of a taxonomy file, lowest first: entries are matched by id, keys of the upper layer win, and new
    entries are appended.

    Mappings (a type's ``examples``, ``question``, ``answer``) are merged key by key; other lists are replaced.
    """
    merged: dict[str, Any] = {}
    lines: dict[tuple[str | int, ...], int] = {}
    above: Any = {}
    below: dict[str, Any] = {}
    for layer in layers:
        above, lines = load_yaml(layer)
        if not isinstance(above, dict):
            raise ResourceError(
                f"{layer}: expected 'key: value' lines, found {'nothing' if above is None else type(above).__name__}"
            )
        below = dict(merged)
        for key, value in above.items():
            ids = [e["id"] for e in value if _has_id(e)] if isinstance(value, list) else []
            if twice := next((id for n, id in enumerate(ids) if id in ids[:n]), None):
                raise ResourceError(f"{layer}: {key} has the id {twice!r} twice", hint="Merge the two entries.")
            merged[key] = _entries(merged.get(key), value)
    try:
        return validate(merged, model, str(layers[-1]), _moved(lines, above, merged))
    except ResourceError as error:
        if error.hint or not (hint := _misspelt(above, below)):
            raise
        raise ResourceError(error.message, hint=hint) from error


def _moved(lines: dict[tuple[str | int, ...], int], above: Any, merged: Any) -> dict[tuple[str | int, ...], int]:
    """Return the upper file's line numbers, mapped to the positions of its entries in the merged lists."""
    places: dict[tuple[str | int, ...], int] = {}
    for key, entries in above.items():
        into = {e["id"]: n for n, e in enumerate(merged[key]) if _has_id(e)} if isinstance(merged[key], list) else {}
        for path, line in lines.items():
            if path[:1] != (key,):
                continue
            number = path[1] if len(path) > 1 else None
            entry = entries[number] if isinstance(number, int) and isinstance(entries, list) else None
            place = into.get(entry["id"]) if isinstance(entry, dict) and _has_id(entry) else number
            places[path if place is None else (key, place, *path[2:])] = line
    return places


def _misspelt(above: dict[str, Any], below: dict[str, Any]) -> str:
    """Return a hint for an entry whose id is not in the lower layers but is similar to one of theirs."""
    for key, entries in above.items():
        known = [e["id"] for e in below.get(key) or () if _has_id(e)] if isinstance(below.get(key), list) else []
        for entry in entries if isinstance(entries, list) else ():
            near = difflib.get_close_matches(entry["id"], known, 1, 0.8) if _has_id(entry) else []
            if near and entry["id"] not in known:
                return f"The id {entry['id']!r} is new here. Did you mean {near[0]!r}?"
    return ""


def _entries(mine: Any, theirs: Any) -> Any:
    if not (isinstance(theirs, list) and isinstance(mine, list) and all(_has_id(e) for e in [*theirs, *mine])):
        return _merged(mine, theirs)
    entries = {entry["id"]: entry for entry in mine}
    for entry in theirs:
        entries[entry["id"]] = _merged(entries.get(entry["id"]), entry)
    return list(entries.values())


def _has_id(entry: object) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("id"), str)


def _merged(mine: Any, theirs: Any) -> Any:
    if isinstance(mine, dict) and isinstance(theirs, dict):
        return {**mine, **{k: _merged(mine.get(k), v) for k, v in theirs.items()}}
    return theirs
