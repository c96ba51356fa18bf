"""Finds and hashes model files on this machine, and keeps GGUF files converted for fast loading."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, Final

from scirgen.core.errors import require
from scirgen.core.fingerprint import digest, file_sha256

_WHOLE_FILE_BYTES: Final = 256 * 2**20
_CHUNK: Final = 2**20
_WORTH_CONVERTING_BYTES: Final = 300 * 2**20


def cache_folder() -> Path:
    """The folder for models: ``SCIRGEN_CACHE``, or the user's cache folder on this system."""
    override = os.environ.get("SCIRGEN_CACHE")
    if override:
        return Path(override).expanduser()
    with require("local", "models in this process"):
        import platformdirs
    return platformdirs.user_cache_path("scirgen")


def converted_folder(gguf: Path) -> Path | None:
    """Where the dequantised copy of a small GGUF file is, or would be; None for large files.

    transformers reads a GGUF file's header in Python, three times over: 20 s of processor time for a model of 135M
    parameters, at every start. The copy (float32 safetensors, about six times the file's size) loads in one second.
    """
    if gguf.suffix != ".gguf" or not gguf.is_file() or gguf.stat().st_size > _WORTH_CONVERTING_BYTES:
        return None
    import transformers

    version = ".".join(transformers.__version__.split(".")[:2])
    return cache_folder() / "converted" / f"{weights_hash(gguf)[:24]}-transformers-{version}"


def keep_converted(folder: Path, model: Any, tokenizer: Any) -> None:
    """Save a model that was loaded from GGUF in float32, unless a copy exists or there is no room."""
    with contextlib.suppress(OSError):
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".part-"))
        try:
            # Its weights are now plain float32; transformers would refuse to save it as a quantised model.
            model.hf_quantizer = None
            model.config.__dict__.pop("quantization_config", None)
            model.save_pretrained(scratch)
            tokenizer.save_pretrained(scratch)
            scratch.rename(folder)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def weights_hash(place: Path) -> str:
    """A content hash of a model's files; "" if they are not on disk.

    Files above 256 MiB are hashed by their size and 64 pieces of 1 MiB, evenly spread, which distinguishes two
    revisions of weights and takes well under a second.
    """
    if place.is_file():
        return _file_hash(place)
    if not place.is_dir():
        return ""
    kinds = {".safetensors", ".bin", ".gguf", ".json", ".model"}
    files = sorted(p for p in place.iterdir() if p.suffix in kinds and p.is_file())
    return digest("weights", [(p.name, _file_hash(p)) for p in files]) if files else ""


def _file_hash(path: Path) -> str:
    size = path.stat().st_size
    if size <= _WHOLE_FILE_BYTES:
        return file_sha256(path)
    total = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        for piece in range(64):
            file.seek((size - _CHUNK) * piece // 63)
            total.update(file.read(_CHUNK))
    return total.hexdigest()
