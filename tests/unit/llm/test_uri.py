from __future__ import annotations

import pytest

from scirgen.core.errors import ConfigError
from scirgen.llm.uri import ModelURI


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("openai:gpt-5", ModelURI("openai", "gpt-5")),
        (
            "openai:qwen2.5:7b@http://localhost:11434/v1/",
            ModelURI("openai", "qwen2.5:7b", ("http://localhost:11434/v1",)),
        ),
        ("openai:m@http://a:1/v1, http://b:2/v1", ModelURI("openai", "m", ("http://a:1/v1", "http://b:2/v1"))),
        ("openai:m@http://a/v1,http://a/v1", ModelURI("openai", "m", ("http://a/v1",))),
        ("hf:org/model@main", ModelURI("hf", "org/model@main")),
        ("hf:/data/model.gguf", ModelURI("hf", "/data/model.gguf")),
        ("bundled:smollm2-135m", ModelURI("bundled", "smollm2-135m")),
    ],
)
def test_parse_of_a_right_uri_gives_its_parts(text: str, expected: ModelURI) -> None:
    assert ModelURI.parse(text) == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("gpt-5", "is not a model URI"),
        ("openai:", "is not a model URI"),
        ("", "is not a model URI"),
        ("http://localhost:8000/v1", "not a model"),
        ("openai:@http://localhost/v1", "does not name a model"),
        ("openai:m@localhost:8000/v1", "no http"),
        ("openai:m@http://", "is not an http"),
        ("openai:m@http://host:notaport/v1", "is not an address"),
        ("openai:m@http://user:secret@host/v1", "must not contain"),
    ],
)
def test_parse_of_a_wrong_uri_says_what_to_write(text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ModelURI.parse(text)
    assert says in caught.value.message
    assert caught.value.hint
    assert "secret" not in caught.value.message + caught.value.hint


def test_parse_then_str_is_the_same_uri() -> None:
    assert str(ModelURI.parse("openai:m@http://a/v1,http://b/v1")) == "openai:m@http://a/v1,http://b/v1"
