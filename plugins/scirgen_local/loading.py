"""Loads causal language models with transformers, once per process: chat and scoring share the weights.

`transformers_local` (chat) and `transformers_scoring` use them.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import shutil
import tempfile
import threading
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scirgen import ConfigError, ModelIdentity
from scirgen.plugin import ModelAccessError, digest, file_sha256, require

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

LOADING_OPTIONS: Final[Mapping[str, str]] = {
    "dtype": "float32, bfloat16, float16 or auto (default: float32 on a CPU, bfloat16 elsewhere)",
    "device": "cpu, cuda, cuda:N, mps or auto (default)",
    "model_revision": "commit or branch of a Hugging Face model",
    "attention": "transformers' attention implementation (default: its own choice)",
}
"""The keys of ``config.models.options`` that decide how a model is loaded; this module ignores the others."""


@dataclass(frozen=True)
class LoadedModel:
    """Weights and tokenizer, shared by all callers that load the same model.

    Attributes:
        model: in eval mode, gradients off.
        tokenizer: with a pad token.
        identity: the revision is a commit or a hash of the weights, then "+" and the dtype: scores depend on it. The
            name of a local file or folder is its last part, since paths differ between machines.
        context_tokens: the window, or None if unknown.
        lock: held around every use of the model; torch's CPU kernels use all threads anyway.
    """

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    identity: ModelIdentity
    context_tokens: int | None
    parameters: int
    lock: threading.RLock

    @property
    def device(self) -> torch.device:
        return self.model.device

    def named(self, backend: str, name: str) -> LoadedModel:
        """Return the same model under another backend's name."""
        return replace(self, identity=ModelIdentity(backend, name, self.identity.revision))


_loaded: dict[tuple[str, ...], LoadedModel] = {}
_loading = threading.Lock()


def load_causal_lm(name: str, options: Mapping[str, object] | None = None) -> LoadedModel:
    """Load a model, or return the one already loaded from the same place in the same dtype on the same device.

    Blocks for seconds; call it in a thread. Safe for concurrent callers.

    Args:
        name: a Hugging Face id, a folder, or a GGUF file (dequantised).
        options: see `LOADING_OPTIONS`.

    Raises:
        MissingExtraError: torch or transformers is not installed.
        ModelAccessError: there is no such model, or it is not a causal language model.
        ConfigError: an option's value is unknown.
    """
    with require("local", "models in process"):
        import torch
        import transformers  # noqa: F401
    # A rename inside transformers, which says nothing to users.
    warnings.filterwarnings("ignore", "`past_key_values` is deprecated", FutureWarning)
    options = options or {}
    device = _device(str(options.get("device", "auto")))
    dtype = _dtype(str(options.get("dtype", "")), device)
    path = Path(name).expanduser()
    place = str(path.resolve()) if path.exists() else name
    revision = str(options.get("model_revision", ""))
    attention = str(options.get("attention", ""))
    key = (place, revision, str(dtype), str(device), attention)
    with _loading:
        if key not in _loaded:
            torch.set_grad_enabled(False)
            _loaded[key] = _load(name, place, dtype, device, revision, attention)
        return _loaded[key]


def _device(wanted: str) -> torch.device:
    import torch

    if wanted == "auto":
        wanted = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(wanted)
    except RuntimeError as error:
        raise ConfigError(
            f"models.options.device: {wanted!r} is not a device", hint=LOADING_OPTIONS["device"]
        ) from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError(f"models.options.device is {wanted!r}, but there is no CUDA device", hint="Use cpu or auto.")
    return device


def _dtype(wanted: str, device: torch.device) -> torch.dtype:
    import torch

    known = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
    if wanted in ("", "auto"):
        return torch.float32 if device.type == "cpu" else torch.bfloat16
    if wanted not in known:
        raise ConfigError(f"models.options.dtype: {wanted!r} is unknown", hint=LOADING_OPTIONS["dtype"])
    return known[wanted]


def _load(
    name: str, place: str, dtype: torch.dtype, device: torch.device, revision: str, attention: str
) -> LoadedModel:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    logging.getLogger("transformers").setLevel(logging.ERROR)
    _quiet_gguf()
    source, where = _source(place)
    converted = converted_folder(Path(source) / where["gguf_file"]) if "gguf_file" in where else None
    if converted is not None and converted.is_dir():
        source, where = str(converted), {}
    if revision:
        where["revision"] = revision
    where["trust_remote_code"] = False
    extra: dict[str, Any] = {"attn_implementation": attention} if attention else {}
    if "gguf_file" in where:
        extra |= _dequantised()
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(source, **where)
        model: Any = AutoModelForCausalLM.from_pretrained(source, dtype=dtype, **where, **extra)
    except (OSError, ValueError, KeyError) as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelAccessError(
            f"cannot load the model {name!r}: {first}",
            hint="Give a Hugging Face id, a folder with config.json and weights, or a .gguf file of a causal language "
            "model; without a network only what is on this machine can be loaded.",
        ) from error
    if converted is not None and "gguf_file" in where and dtype == torch.float32:
        keep_converted(converted, model, tokenizer)
    model = model.to(device).eval()
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.convert_ids_to_tokens(0)
    dtype_name = str(dtype).removeprefix("torch.")
    weights = getattr(model.config, "_commit_hash", None) or weights_hash(Path(place))
    window = getattr(model.config, "max_position_embeddings", None) or getattr(model.config, "n_positions", None)
    return LoadedModel(
        model=model,
        tokenizer=tokenizer,
        identity=ModelIdentity(
            "hf",
            Path(place).name if Path(place).exists() else name,
            f"{weights[:16]}+{dtype_name}" if weights else dtype_name,
        ),
        context_tokens=int(window) if window else None,
        parameters=sum(p.numel() for p in model.parameters()),
        lock=threading.RLock(),
    )


def _quiet_gguf() -> None:
    """Silence the GGUF reader's own progress bar, which transformers' switch does not control."""
    from tqdm.auto import tqdm
    from transformers import modeling_gguf_pytorch_utils as reader

    vars(reader)["tqdm"] = partial(tqdm, disable=True)


def _dequantised() -> dict[str, Any]:
    """Unpack the weights: newer transformers versions keep a GGUF file's weights packed if a kernel is installed, but
    scores need plain ones."""
    import transformers

    config: Any = getattr(transformers, "GgufConfig", None)
    return {"quantization_config": config(dequantize=True)} if config is not None else {}


def _source(place: str) -> tuple[str, dict[str, Any]]:
    """Return the arguments for ``from_pretrained``; a GGUF file is passed as its folder and ``gguf_file=``."""
    path = Path(place)
    if path.is_file():
        return str(path.parent), {"gguf_file": path.name}
    if path.is_dir() and not (path / "config.json").exists():
        files = sorted(path.glob("*.gguf"))
        if len(files) == 1:
            return str(path), {"gguf_file": files[0].name}
    return place, {}


_WHOLE_FILE_BYTES: Final = 256 * 2**20
_CHUNK: Final = 2**20
_WORTH_CONVERTING_BYTES: Final = 300 * 2**20


def cache_folder() -> Path:
    """Return the folder for models: ``SCIRGEN_CACHE``, or the user's cache folder on this system."""
    override = os.environ.get("SCIRGEN_CACHE")
    if override:
        return Path(override).expanduser()
    with require("local", "models in this process"):
        import platformdirs
    return platformdirs.user_cache_path("scirgen")


def converted_folder(gguf: Path) -> Path | None:
    """Return the path for the dequantised copy of a small GGUF file; None for large files.

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
    """Return a content hash of a model's files; "" if they are not on disk.

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
