"""Made-up replies: a valid instance of any JSON schema, its texts taken from the prompt's fenced data;
log-probabilities from counting words. Used by the fake server of `scirgen.testing` and by the trial of `scirgen
estimate`.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import re
from typing import Any

_FENCE = re.compile(r"<(data-[0-9a-f]{8,64})>\n(.*?)\n</\1>", re.S)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z(\"'])|\n+")
_NUMBERED = re.compile(r"^[ \t]*\[?(\d{1,4})[\]\).:][ \t]*(.*)$", re.M)
_LABEL = re.compile(r"^\s*\[?\d{1,4}[\]\).:]\s*")
_THROWN = re.compile(r"remove|reject|discard|drop|faults")
_STEMS = re.compile(r"Typical beginnings: (.+)")
_ANY_STEMS = ("What is known about ...", "How does ... relate to ...", "Why does ...")
_QUANTITY = re.compile(r"\d+(?:[.,]\d+)?\s?[A-Za-z%°]+")
_WORDS = re.compile(r"[A-Za-z][A-Za-z-]{3,}")


def word_logprobs(text: str) -> tuple[list[str], list[float], list[int]]:
    """Return the tokens, their natural-log probabilities and their character offsets."""
    seen: dict[str, int] = {}
    tokens, logprobs, offsets = [], [], []
    for match in re.finditer(r"\s*\S+|\s+\Z", text):
        token = match.group()
        word = token.strip().lower().strip(".,;:!?()\"'")
        base = -4.0 - int(hashlib.sha256(word.encode()).hexdigest()[:4], 16) / 65536 * 4.0
        tokens.append(token)
        logprobs.append(min(-0.05, base + 1.5 * math.log1p(2 * seen.get(word, 0))))
        offsets.append(match.start())
        seen[word] = seen.get(word, 0) + 1
    return tokens, logprobs, offsets


_LONG = 6
"""Letters of a word that may tell a subject."""
_ASKED = re.compile(r"^q(\d+) \([^\n]*?\): ([^\n]*)$", re.M)
_FOUND = re.compile(r"^(?:Passage|Record) (\d+)\b[^\n]*((?:\n\[\d+\] [^\n]*)+)", re.M)


class Plausible:
    """Makes values for one reply from one prompt's data. All values in an object are about one sentence."""

    def __init__(self, prompt: str, rng: random.Random) -> None:
        self.rng = rng
        self.prompt = prompt
        self.data = "\n".join(m.group(2) for m in _FENCE.finditer(prompt)) or prompt
        pieces = [s.strip() for s in _SENTENCE.split(self.data)]
        self.sentences = [s for s in pieces if 25 <= len(s) <= 400] or [s for s in pieces if s] or ["Nothing is given."]
        self.numbered = {int(n): text.strip() for n, text in _NUMBERED.findall(self.data)}
        self.task = prompt
        self.stems = _stems(prompt)
        self.turn = 0

    def sentence(self) -> str:
        return _LABEL.sub("", self.rng.choice(self.sentences))

    def plain(self) -> str:
        asked = self.prompt.rstrip().rpartition("\n")[2].lower()
        return self.question(self.sentence()) if "question" in asked else self.sentence()

    def question(self, sentence: str) -> str:
        """Return a stem of the wanted type, its gaps filled with words of the sentence."""
        words = list(dict.fromkeys(w.lower() for w in _WORDS.findall(sentence))) or ["data"]
        stem = self.rng.choice(self.stems).rstrip("?")
        gaps = max(1, stem.count("..."))
        size = max(2, min(6, len(words) // gaps))
        groups = [" ".join(words[i * size : (i + 1) * size] or words[:size]) for i in range(gaps)]
        if "..." not in stem:
            return f"{stem} {groups[0]}?"
        for group in groups:
            stem = stem.replace("...", group, 1)
        return stem if stem.startswith(("Please", "I ")) else stem + "?"

    def answer(self, sentence: str) -> str:
        """Return an answer in the form that the prompt asks for."""
        if "single word Yes or No" in self.task:
            return self.rng.choice(("Yes", "No"))
        if "number and its unit alone" in self.task and (found := _QUANTITY.search(sentence)):
            return found.group().strip()
        if "not a sentence" in self.task or "option alone" in self.task:
            words = _WORDS.findall(sentence)
            return ", ".join(words[:4]) if "comma-separated" in self.task else " ".join(words[:4])
        return sentence

    def instance(self, schema: dict[str, Any], root: dict[str, Any], name: str, about: str | None = None) -> Any:
        """Return a valid instance of a schema; ``name`` is the property it is for, ``about`` the sentence its object is
        about."""
        if "$ref" in schema:
            return self.instance(_resolved(schema["$ref"], root), root, name, about)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self.choice(schema["enum"])
        for union in ("anyOf", "oneOf", "allOf"):
            if union in schema:
                options = [s for s in schema[union] if s.get("type") != "null"] or schema[union]
                return self.instance(options[0], root, name, about)
        kind = schema.get("type", "object" if "properties" in schema else "string")
        kind = next(k for k in kind if k != "null") if isinstance(kind, list) else kind
        if kind == "object":
            return self._object(schema, root, name)
        if kind == "array":
            return self._array(schema, root, name, about)
        if kind == "boolean":
            return True
        if kind in ("integer", "number"):
            return self._number(schema, kind)
        return self._string(schema, name, about or self.sentence()) if kind == "string" else None

    def choice(self, options: list[Any]) -> Any:
        """Choose one of the options; a judge finds a pair supported, keeps it, and agrees with a second reader."""
        favoured = ({"supported", "contradicted"}, {"keep", "reject"}, {"same", "differs"})
        among = next((one for one in favoured if one <= set(options)), None)
        return self.rng.choice(options) if among is None else next(o for o in options if o in among)

    def _object(self, schema: dict[str, Any], root: dict[str, Any], name: str) -> dict[str, Any]:
        properties = schema.get("properties", {})
        if {"subject", "broader"} <= properties.keys():
            return {key: " ".join(sorted(self._subjects(3))) for key in properties}
        if {"grades", "lines", "answer"} <= properties.keys():
            return self._answer_to(name)
        # Who has not read the text does not ask in its order of words.
        about = " ".join(self._subjects(3)) if "need" in properties else self.sentence()
        made: dict[str, Any] = {}
        for key, part in properties.items():
            if key == "type" and "enum" in part:
                # The types of a list of pairs in turn, each in the form that the prompt asks for.
                made[key] = part["enum"][self.turn % len(part["enum"])]
                self.turn += 1
                self.task = _block(self.prompt, made[key])
                self.stems = _stems(self.task)
            elif self.numbered and part.get("type") == "integer" and not {"minimum", "maximum", "enum"} & part.keys():
                made[key] = self.rng.choice(sorted(self.numbered))
                about = self.numbered[made[key]] or about
            elif self.numbered and part.get("type") == "array" and part.get("items", {}).get("type") == "integer":
                # Line numbers: the object's other values are about the first of them.
                emptied = part.get("minItems", 0) == 0 and _THROWN.search(key) is not None
                made[key] = [] if emptied else self._line_numbers()
                about = (self.numbered[made[key][0]] if made[key] else "") or about
            else:
                made[key] = self.instance(part, root, key, about)
        return made

    def _subjects(self, count: int) -> list[str]:
        """Return some long words of the data, without those in the past tense, which tell what was found."""
        words = {w for w in _WORDS.findall(self.data) if w.islower() and len(w) >= _LONG and not w.endswith("ed")}
        return self.rng.sample(sorted(words), min(count, len(words))) or ["data"]

    def _answer_to(self, name: str) -> dict[str, Any]:
        """Return the reply to a question that is asked under a name (``q2``): the line with most of its words answers
        it, if it has two of them."""
        asked = next((_words(text) for number, text in _ASKED.findall(self.prompt) if f"q{number}" == name), set())
        lines = [
            (len(asked & _words(text)), int(passage), int(number), text.strip())
            for passage, block in _FOUND.findall(self.prompt)
            for number, text in _NUMBERED.findall(block)
        ]
        shared, passage, number, text = max(lines, key=lambda line: line[0], default=(0, 0, 0, ""))
        given = {"grades": [], "verdict": "not_here", "lines": [], "about": [], "answer": "", "narrower": ""}
        if shared < _ENOUGH:
            return given | {"lacking": ", ".join(sorted(asked - _words(text)))}
        grades = [{"passage": passage, "grade": 2}]
        return given | {"grades": grades, "verdict": "answered", "lines": [number], "answer": text, "lacking": ""}

    def _line_numbers(self) -> list[int]:
        return self.rng.sample(sorted(self.numbered), min(1, len(self.numbered)))

    def _array(self, schema: dict[str, Any], root: dict[str, Any], name: str, about: str | None) -> list[Any]:
        low = schema.get("minItems", 0)
        if low == 0 and _THROWN.search(name):
            return []
        items = schema.get("items", {"type": "string"})
        most = schema.get("maxItems", 3)
        if "enum" in items:
            options: list[Any] = list(items["enum"])
            self.rng.shuffle(options)
            enough: list[Any] = options * max(1, low)
            return enough[: max(low, min(most, len(options)))]
        if items.get("type") == "string" and about is not None:
            return [self._string(items, name, about)] * max(1, low)
        found = [self.instance(items, root, name) for _ in range(max(low, most, 1))]
        # One entry per numbered sentence, since a second one would contradict or repeat the first.
        named = {json.dumps(v.get("number", v.get("sentence", v)) if isinstance(v, dict) else v): v for v in found}
        return list(named.values()) if len(named) >= low else found

    def _number(self, schema: dict[str, Any], kind: str) -> float:
        low = schema.get("minimum", schema.get("exclusiveMinimum", 0 if kind == "number" else None))
        high = schema.get("maximum", schema.get("exclusiveMaximum"))
        if kind == "number":
            return round(self.rng.uniform(low or 0.0, high if high is not None else (low or 0.0) + 1.0), 3)
        choices = [n for n in sorted(self.numbered) if (low is None or n >= low) and (high is None or n <= high)]
        if choices and high is None:
            return self.rng.choice(choices)
        low = 1 if low is None else int(low) + ("exclusiveMinimum" in schema)
        high = low + 2 if high is None else int(high) - ("exclusiveMaximum" in schema)
        return self.rng.randint(low, max(low, high))

    def _string(self, schema: dict[str, Any], name: str, about: str) -> str:
        lowered = name.lower()
        if "question" in lowered:
            text = self.question(about)
        elif "answer" in lowered:
            text = self.answer(about)
        else:
            text = about
        limit = schema.get("maxLength")
        text = text[:limit] if limit else text
        return text.ljust(schema.get("minLength", 0), ".")


_ENOUGH = 2


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORDS.findall(text)}


def _stems(text: str) -> list[str]:
    found = _STEMS.search(text)
    return [s.strip() for s in found.group(1).rstrip(".").split(";")] if found else list(_ANY_STEMS)


def _block(prompt: str, name: str) -> str:
    """Return the part of a prompt for several things that is about one of them: the one that begins with its name."""
    at = prompt.find(f"\n{name}: ")
    return prompt[at : (prompt + "\n\n").find("\n\n", at)] if at >= 0 else ""


def _resolved(reference: str, root: dict[str, Any]) -> dict[str, Any]:
    node: Any = root
    for part in reference.removeprefix("#/").split("/"):
        node = node[part]
    return dict(node)
