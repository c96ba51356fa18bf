"""Worked examples for prompts that ask for a question about one sentence: those of the type, and the prompt's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from scirgen.plugin import QuestionType

BLANK = "____"


def shots(kind: QuestionType, domain: str, own: Iterable[Mapping[str, object]]) -> list[dict[str, str]]:
    """Return ``text`` and ``question`` of each example, in the form of the task.

    ``own`` are a prompt's examples; their ``for`` names the kind of answer (``yes_no``, ``option``, ``number``...). An
    example of the type is left out if its answer cannot be removed from the evidence, is No, or is an option.
    """
    made = [{"text": str(e["text"]), "question": str(e["question"])} for e in own if e.get("for") == kind.answer.kind]
    for example in kind.examples_for(domain):
        text = example.evidence
        if kind.answer.kind == "option":
            continue
        if kind.polar:
            # A question with the answer No is made from a changed sentence, and the example's is not.
            if not example.answer.casefold().startswith("yes"):
                continue
        elif kind.answer.kind == "number" or kind.id == "concept_completion":
            if example.answer not in text:
                continue
            text = text.replace(example.answer, BLANK, 1)
        made.append({"text": text, "question": example.question})
    return made
