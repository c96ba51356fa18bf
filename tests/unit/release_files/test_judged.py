"""What the card says of the judge."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from scirgen.release_files.judged import judged_by
from scirgen.release_files.release import MadeRow

PASSED = ("llm_judge openai:mistral-large: validated on test (60 items)",)
MEASURED = "score llm_judge of RUN, 60 measured by {}, thresholds {{}}: validated on test (60 items)"
WRITER = MadeRow(stage="generate", model="openai:Qwen/Qwen3-8B rev 1", prompt="generate/joint@1#a")


@pytest.mark.parametrize(
    ("judge", "tested", "said"),
    [
        (WRITER.model, (), "Judged by the model that wrote them; not tested against people."),
        (
            "openai:Qwen/Qwen3-32B",
            (),
            "Judged by openai:Qwen/Qwen3-32B, of the writer's family; not tested against people.",
        ),
        ("openai:mistral-large", PASSED, "Judged by openai:mistral-large; tested against people."),
        (
            "openai:mistral-large",
            ("llm_judge: unvalidated on test (",),
            "Judged by openai:mistral-large; not tested",
        ),
        ("openai:mistral-large", ("llm_judge: unvalidated on dev (",), "Judged by openai:mistral-large; not tested"),
        ("openai:mistral-large", (MEASURED.format("openai:mistral-large"),), "Judged by openai:mistral-large; tested"),
        ("openai:mistral-large", (MEASURED.format("openai:other"),), "Judged by openai:mistral-large; not tested"),
    ],
)
def test_the_card_says_who_judged_and_whether_people_tested_it(judge: str, tested: tuple[str, ...], said: str) -> None:
    made = (WRITER, MadeRow(stage="filter", model=judge, prompt="llm_judge #0123"))
    labels = (SimpleNamespace(judges=tested, annotators=3, language_models=1),)
    assert judged_by(SimpleNamespace(made=made, labels=labels)).startswith(said)


def test_language_models_alone_test_no_judge() -> None:
    made = (WRITER, MadeRow(stage="filter", model="openai:mistral-large", prompt="llm_judge #0123"))
    labels = (SimpleNamespace(judges=PASSED, annotators=2, language_models=2),)
    assert judged_by(SimpleNamespace(made=made, labels=labels)).endswith("; not tested against people.")


def test_the_card_is_silent_without_a_judge() -> None:
    assert judged_by(SimpleNamespace(made=(WRITER,), labels=())) == ""
