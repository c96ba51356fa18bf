"""Words questions about one English sentence by rule, if its grammar is simple, and checks questions that a model
wrote.

A statement with an auxiliary becomes a yes-or-no question by putting that first (Heilman and Smith, NAACL 2010, section
3): this is exact if subject, auxiliary and the rest follow each other without another clause. The model words all other
questions.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from scirgen.core.text.textmatch import stem, words
from scirgen.plugin import content_words, telling_words
from scirgen.stages.generate.naming import short_name
from scirgen_embedded.writer.facts import main_auxiliary

_LONGEST_SUBJECT, _LONGEST = 14, 34
_UNCLEAR = re.compile(
    r"\b(?:we|our|us|i|it|they|them|he|she|there|here|this|these|those|such|both|former|latter|respectively|not|no|nor"
    r"|neither|never|cannot|but|however|also)\b|[;:(){}\[\]=]|\w/\w|\bet al\b",
    re.I,
)
"""Words that make a sentence depend on others, or its question ambiguous."""
_FRONTED = re.compile(r"(?:In|At|On|For|From|By|To|With|Of|As)\b|\w+,")
"""Words before the subject: "In winter the lake ...", "Then, the series ..."."""
_CLAUSE = re.compile(r"\b(?:that|which|who|whose|where|when|while|if|because|since|although|whereas|what|how)\b", re.I)
_FINITE = re.compile(r"(?<!that )(?<!which )(?<!who )\b(?:is|are|was|were|has|have|had)\b")
_DETERMINERS = frozenset(("The", "A", "An", "Each", "Every", "All", "Most", "Many", "Some", "Several", "Few", "Other"))
_FURTHER = re.compile(
    r",\s(?:because|since|as|which|whereas|while|so that|although|when|where|and (?:is|are|was|were|has|have)\b)\b.*$",
    re.I,
)
_ASKED_WITH = "for|with|at|in|within|over|from"
_MEASURE = (
    r"(?:spatial |temporal |mean )?(?:height|depth|resolution|temperature|length|distance|area|rate|speed|interval|"
    r"scale|accuracy|frequency|elevation)"
)
_ALWAYS = frozenset((
    "is", "are", "was", "were", "has", "have", "does", "did", "can", "do", "will", "number", "many", "much", "long",
    "often", "value", "size", "kind", "type", "name", "called", "used", "using", "data", "dataset", "true", "so",
    "year", "time", "item", "large",
))  # fmt: skip
_JOINING = frozenset(("since", "until", "before", "after", "between", "without", "against"))
_COVERED = 0.8


def turned(sentence: str, known: str) -> str | None:
    """Return the sentence as a yes-or-no question, by rule; None if its grammar is not simple enough.

    Args:
        sentence: a statement, with a capital at its beginning and a full stop.
        known: other text of the same material. A first word keeps its capital if it has one there.
    """
    parts = _parts(sentence, known)
    return f"{parts[1].capitalize()} {parts[0]} {parts[2]}?" if parts else None


def asked_for(sentence: str, number: str, counted: bool, known: str) -> str | None:
    """Return a question for a number after the verb: "For how many minutes were birds counted?".

    Args:
        sentence: the statement.
        number: the number with its unit or the counted things, as in the sentence.
        counted: whether it counts things.
        known: see `turned`.
    """
    parts = _parts(sentence, known)
    behind = rf"^(\w+(?: \w+ly)?) ({_ASKED_WITH}) (?:(?:a|an|the) ({_MEASURE}) of )?{re.escape(number)}(?![\w-])(.*)$"
    match = re.match(behind, parts[2]) if parts else None
    if parts is None or match is None or re.search(rf"\band (?:{_ASKED_WITH})\b", match[4]):
        return None
    if match[3]:
        what = f"what {match[3]}"
    elif counted:
        what = f"how many {number.partition(' ')[2]}"
    else:
        return None
    return f"{match[2].capitalize()} {what} {parts[1]} {parts[0]} {match[1]}{match[4]}?"


def _parts(sentence: str, known: str) -> tuple[str, str, str] | None:
    """Return the subject, auxiliary and the rest of a statement; None if its grammar is not simple enough."""
    text = sentence.strip()
    if not text[:1].isupper() or not text.endswith(".") or len(text.split()) > _LONGEST:
        return None
    text = _FURTHER.sub("", text.rstrip("."))
    found = main_auxiliary(text)
    if found is None or _UNCLEAR.search(text):
        return None
    subject, rest = text[: found.start()].strip(), text[found.end() :].strip()
    plain = 0 < len(subject.split()) <= _LONGEST_SUBJECT and not _CLAUSE.search(subject)
    if not plain or not rest or _FINITE.search(rest) or _FRONTED.match(subject):
        return None
    return _uncapitalised(subject, known), found.group(1), rest


def _uncapitalised(subject: str, known: str) -> str:
    """Return the subject as it is written within a sentence; a name keeps its capital."""
    first = re.match(r"[^\W\d_]+", subject)
    if first is None or (not first.group()[1:].islower() and len(first.group()) > 1):
        return subject
    if first.group() in _DETERMINERS:
        return subject[:1].lower() + subject[1:]
    if re.search(rf"(?<=[\w,] ){first.group()}\b", known):
        return subject
    return subject[:1].lower() + subject[1:]


def placed(question: str, title: str, within: str) -> str:
    """Return the question about a dataset with the dataset's name before it, unless it contains the name; ``within``:
    "In the {name} data, "."""
    name = short_name(title)
    if name is None or not within or re.search(rf"(?<!\w){re.escape(name)}(?!\w)", question):
        return question
    first = re.match(r"[A-Z][a-z]+\b", question)
    return within.format(name=name) + (question[:1].lower() + question[1:] if first else question)


def names_subject(question: str, topic: str) -> bool:
    """Return whether a question shares two distinctive words with the title of its dataset or paper, or all if the
    title has fewer."""
    wanted = telling_words(topic)
    return len(telling_words(question) & wanted) >= min(2, len(wanted))


def stranger(question: str, told: str, allowed: Collection[str] = ()) -> str | None:
    """Return the first word or number of a question that its material does not contain; None if there is none."""
    known = {stem(w) for w in (*words(told), *_ALWAYS, *(x for a in allowed for x in words(a)))}
    known |= {stem(stem(w)) for w in known}
    for word in words(question):
        telling = word[0].isdigit() or word in _JOINING or telling_words(word)
        if telling and stem(word) not in known and not _kin(word, known):
            return word
    return None


def _kin(word: str, known: Collection[str]) -> bool:
    """Return whether a word is another form of a known one, as "collecting" of "collects"."""
    return len(word) > 5 and any(k[:5] == word[:5] and abs(len(k) - len(word)) <= 4 for k in known)


def broken(question: str, sentence: str) -> str | None:
    """Return the fault of a model's yes-or-no question about a sentence; None if it has none.

    It must begin with the sentence's auxiliary and have most of its words.
    """
    found = main_auxiliary(sentence)
    said = words(question)
    if found is not None and said[:1] != (found.group(1),) and said[:2] != ("is", "it"):
        return f"does not begin with {found.group(1)!r}"
    wanted, kept = {stem(w) for w in content_words(sentence)}, {stem(w) for w in content_words(question)}
    share = len(wanted & kept) / len(wanted) if wanted else 1.0
    return None if share >= _COVERED else f"has {share:.0%} of the sentence's words"
