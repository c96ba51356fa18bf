"""What the tokenizer of a model on a server reads as control is broken up in prompts, named by a folder of its
files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from scirgen.core.config import Config, ModelsConfig
from scirgen.core.errors import ConfigError
from scirgen.core.registry import load_registry
from scirgen.core.text.untrusted import fence, inert, know_special_tokens
from scirgen.llm.open import open_sessions
from scirgen.llm.tokens.special import special_tokens
from scirgen.testing.server import FakeServer

TOKENS = ("<0xSYSTEM>", "«turn»", "[CONTROL_7]", "{|begin|}", "<extra_x>", "▁<role>", "$$user$$")


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    know_special_tokens(())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    added = [{"id": 1, "content": TOKENS[0], "special": True}, {"id": 2, "content": "hydrology", "special": False}]
    (tmp_path / "tokenizer.json").write_text(json.dumps({"added_tokens": added, "model": {}}))
    config = {
        "added_tokens_decoder": {"3": {"content": TOKENS[1], "special": True},
                                 "4": {"content": TOKENS[2], "special": False}},
        "bos_token": TOKENS[3], "eos_token": {"content": TOKENS[4]}, "additional_special_tokens": [TOKENS[5]],
        "pad_token": None,
    }  # fmt: skip
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    (tmp_path / "special_tokens_map.json").write_text(json.dumps({"unk_token": TOKENS[6]}))
    (tmp_path / "added_tokens.json").write_text(json.dumps({"<extra_x>": 9, "snow": 10}))
    return tmp_path


def test_special_tokens_of_a_folder_are_all_that_its_files_name(folder: Path) -> None:
    assert special_tokens(folder) == tuple(sorted(TOKENS))


async def test_a_servers_tokens_are_broken_up_where_its_tokenizer_is_given(folder: Path) -> None:
    text = " and ".join(TOKENS) + " in hydrology, snow and «turns»"
    assert all(token in fence(text) for token in TOKENS if token != "{|begin|}"), "none of them is in the built-in list"
    async with FakeServer() as server:
        models = ModelsConfig(generator=f"openai:fake@{server.url}", tokenizer=str(folder))
        sessions = await open_sessions(Config(models=models), load_registry(), needs_scores=False)
        await sessions.aclose()
        assert not [token for token in TOKENS if token in fence(text) or token in inert(text)]
        assert "hydrology, snow and «turns»" in fence(text)
        other = await open_sessions(
            Config(models=models.model_copy(update={"tokenizer": ""})), load_registry(), needs_scores=False
        )
        await other.aclose()
        assert TOKENS[1] in fence(text), "another run's model is another one"


@pytest.mark.parametrize("written", [None, "[" * 100_000, "not json", "\xff"])
def test_a_folder_without_a_readable_tokenizer_is_an_error(written: str | None, tmp_path: Path) -> None:
    if written is not None:
        (tmp_path / "tokenizer.json").write_bytes(written.encode("latin-1"))
    with pytest.raises(ConfigError, match="tokenizer"):
        special_tokens(tmp_path)


@pytest.mark.parametrize("value", [[], 7, {"added_tokens": 7}, {"added_tokens": [7, {"content": 7}]}, {"bos_token": 7}])
def test_a_tokenizer_file_of_nonsense_names_no_tokens(value: object, tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(value))
    assert special_tokens(tmp_path) == ()
