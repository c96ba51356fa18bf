"""A fake model for whole runs in which people ask about papers, and each question is answered from the passage that
shares most words with it. A reply depends on the request alone, so parts of a run and the whole can be compared."""

from __future__ import annotations

import json
import re
from typing import Any

from scirgen.testing.replies import chat_completion

ASKS = ("How much does the noise of streets change {}?", "Where do {} last longest in winter?")


def reply(body: dict[str, Any]) -> dict[str, Any]:
    """Return the answer of the fake model to a chat request."""
    made = chat_completion(body)
    message = made["choices"][0]["message"]
    system, shown = body["messages"][0]["content"], body["messages"][-1]["content"]
    for begins, change in _CHANGES.items():
        if system.startswith(begins):
            message["content"] = json.dumps(change(json.loads(message["content"]), shown))
    return made


def _topic(said: dict[str, Any], shown: str) -> dict[str, Any]:
    animal = re.search(r"of (\w+)", shown)
    subject = f"sounds which {animal[1] if animal else 'animals'} make"
    empty = dict.fromkeys(said, "")
    return {**empty, "field": "Ecology", "subject": subject, "broader": "animal sounds"}


def _asked(said: dict[str, Any], shown: str) -> dict[str, Any]:
    about = re.search(r"Topic: sounds which (\w+) make", shown)
    if about is None:
        return said
    asked = [{**said["questions"][0], "question": text.format(f"songs of {about[1]}")} for text in ASKS]
    return {"questions": [{**one, "form": "question", "other_words": ["pitch beside loud roads"]} for one in asked]}


def _answered(said: dict[str, Any], shown: str) -> dict[str, Any]:
    lines: list[tuple[int, int, str]] = []
    for n, passage in enumerate(shown.split("\n</data-")[0].split("\nPassage ")[1:], 1):
        lines += [(n, int(i), text) for i, text in re.findall(r"^\[(\d+)\] (.*)$", passage, re.M)]
    for name in said:
        [asked] = re.findall(rf"^{name} \([^)]*\): (.*)$", shown, re.M)
        passage, line, text = max(lines, key=lambda one: (_common(one[2], asked), one[2]))
        said[name] = {
            "grades": [{"passage": passage, "grade": 2}], "verdict": "answered", "lines": [line], "about": [],
            "answer": text, "lacking": "", "narrower": "",
        }  # fmt: skip
    return said


def _common(*texts: str) -> int:
    one, other = (set(re.findall(r"\w+", text.lower())) for text in texts)
    return len(one & other)


def _judged(said: dict[str, Any], _: str) -> dict[str, Any]:
    right = {"p": "supported", "l": "C1", "g": "missed", "c": []}
    return {"faults": []} | {name: right[name[0]] for name in said if name != "faults"}


def _silent(said: dict[str, Any], _: str) -> dict[str, Any]:
    return dict.fromkeys(said, "")


_CHANGES = {
    "You file papers": _topic,
    "You imagine people": _asked,
    "You answer questions from passages": _answered,
    "You check answers": _judged,
    "You are a person of the field": _silent,
}
