"""vLLM in this process: one engine per model, shared by chat and scoring and started on the first request.

`vllm_local` sends the requests.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from scirgen import ConfigError, ModelError, ModelIdentity, ScirgenError
from scirgen.core.errors import ServerUnavailableError
from scirgen.plugin import ModelAccessError, require
from scirgen_local.encoding import JointEncoder
from scirgen_local.loading import weights_hash

VLLM_OPTIONS: Final[Mapping[str, str]] = {
    "dtype": "float32, bfloat16, float16 or auto (default: float32 on a CPU, auto elsewhere)",
    "model_revision": "commit or branch of a Hugging Face model",
    "max_model_len": "context window in tokens (default: the model's own)",
    "gpu_memory_utilization": "share of the GPU's memory that vLLM may use (vLLM's default)",
    "tensor_parallel_size": "number of GPUs the model is split over",
    "quantization": "vLLM's name of a quantisation method",
    "enforce_eager": "true: no CUDA graphs or compilation; starts faster (default: true on a CPU)",
    "max_num_seqs": "largest number of requests computed at once",
}  # fmt: skip
"""The keys of ``config.models.options`` that decide how vLLM runs a model."""

_KINDS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "dtype": str, "model_revision": str, "max_model_len": int, "gpu_memory_utilization": (int, float),
    "tensor_parallel_size": int, "quantization": str, "enforce_eager": bool, "max_num_seqs": int,
}  # fmt: skip

_running: dict[str, VLLMEngine] = {}


class VLLMEngine:
    """One vLLM engine. Make it with `shared`; it belongs to the event loop that first uses it."""

    def __init__(self, name: str, options: Mapping[str, object]) -> None:
        self.name = name
        self._options = dict(options)
        self._users = 0
        self._starting = asyncio.Lock()
        self._engine: Any = None
        self._numbers = itertools.count()
        self._model_config = _model_config(name, options)
        self.encoder = JointEncoder(_tokenizer(name, options))
        self.encoding = asyncio.Lock()

    @classmethod
    def shared(cls, name: str, options: Mapping[str, object]) -> VLLMEngine:
        """Return the engine of this model with these options; `release` it when done.

        Reads the model's configuration and tokenizer, and no weights.

        Raises:
            MissingExtraError: vLLM is not installed.
            ModelAccessError: there is no such model.
            ConfigError: an option's value is of the wrong type.
        """
        chosen = {k: v for k, v in options.items() if k in VLLM_OPTIONS}
        for option, value in chosen.items():
            if not isinstance(value, _KINDS[option]) or (isinstance(value, bool) and _KINDS[option] is not bool):
                raise ConfigError(f"models.options.{option}: {value!r} cannot be used", hint=VLLM_OPTIONS[option])
        with require("vllm", "the backend vllm:", " (on a CPU, see docs/seper.md)"):
            import vllm  # noqa: F401
        key = json.dumps([name, chosen], sort_keys=True)
        if key not in _running:
            _running[key] = cls(name, chosen)
        engine = _running[key]
        engine._users += 1
        return engine

    def release(self) -> None:
        """Stop the engine when it has no more users."""
        self._users -= 1
        if self._users > 0:
            return
        for key in [k for k, e in _running.items() if e is self]:
            del _running[key]
        if self._engine is not None:
            self._engine.shutdown()
            self._engine = None

    @property
    def identity(self) -> ModelIdentity:
        """The revision is a commit or a hash of the weights, then "+" and the dtype: scores depend on it."""
        path = Path(self.name).expanduser()
        known = getattr(self._model_config, "_commit_hash", None) or weights_hash(path)
        revision = "+".join(filter(None, (known[:16] if known else "", self._dtype())))
        return ModelIdentity("vllm", path.name if path.exists() else self.name, revision)

    @property
    def context_tokens(self) -> int | None:
        """The window: the option's, else the model's."""
        asked = self._options.get("max_model_len")
        own = getattr(self._model_config, "max_position_embeddings", None)
        return int(str(asked)) if asked is not None else (int(own) if own else None)

    async def generate(self, ids: tuple[int, ...] | list[int], sampling: Any) -> Any:
        """Run one request to its end; returns vLLM's final RequestOutput.

        Raises:
            ModelError: vLLM refused or failed the request.
            ServerUnavailableError: the engine died.
            ModelAccessError: the weights cannot be loaded.
        """
        from vllm.inputs import TokensPrompt

        engine = await self._started()
        prompt, number = TokensPrompt(prompt_token_ids=list(ids)), f"scirgen-{next(self._numbers)}"
        try:
            outputs = [output async for output in engine.generate(prompt, sampling, number)]
        except ScirgenError:
            raise
        except Exception as error:
            raise _translated(error) from error
        return outputs[-1]

    async def _started(self) -> Any:
        async with self._starting:
            if self._engine is None:
                self._engine = await asyncio.to_thread(self._start)
        return self._engine

    def _start(self) -> Any:
        from vllm import AsyncEngineArgs
        from vllm.v1.engine.async_llm import AsyncLLM

        cpu = _on_cpu()
        options = {k: v for k, v in self._options.items() if k not in ("model_revision", "dtype", "enforce_eager")}
        if cpu:
            options.setdefault("max_num_seqs", 64)
            os.environ.setdefault(
                "VLLM_CPU_KVCACHE_SPACE", "2"
            )  # GiB; the default would take half of the machine's memory
        try:
            arguments = AsyncEngineArgs(
                model=str(Path(self.name).expanduser()) if Path(self.name).expanduser().exists() else self.name,
                revision=self._options.get("model_revision"),
                dtype=self._dtype(),
                enforce_eager=bool(self._options.get("enforce_eager", cpu)),
                enable_prefix_caching=True,
                trust_remote_code=False,
                disable_log_stats=True,
                **options,
            )
            return AsyncLLM.from_engine_args(arguments)
        except Exception as error:  # vLLM raises RuntimeError, ValueError, OSError, pydantic's and its own
            first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise ModelAccessError(
                f"vLLM cannot start with {self.name!r}: {first}",
                hint="See its own log lines above; changing max_model_len or gpu_memory_utilization often helps.",
            ) from error

    def _dtype(self) -> str:
        asked = str(self._options.get("dtype", ""))
        return asked or ("float32" if _on_cpu() else "auto")


def _on_cpu() -> bool:
    from vllm.platforms import current_platform

    return bool(current_platform.is_cpu())


def _model_config(name: str, options: Mapping[str, object]) -> Any:
    from transformers import AutoConfig

    try:
        config: Any = AutoConfig.from_pretrained(name, **_where(options))
        return config.get_text_config()
    except (OSError, ValueError, KeyError) as error:
        raise _unknown(name, error) from error


def _tokenizer(name: str, options: Mapping[str, object]) -> Any:
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(name, **_where(options))
    except (OSError, ValueError, KeyError) as error:
        raise _unknown(name, error) from error


def _where(options: Mapping[str, object]) -> dict[str, Any]:
    return {"revision": str(options.get("model_revision") or "main"), "trust_remote_code": False}


def _unknown(name: str, error: Exception) -> ModelAccessError:
    first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return ModelAccessError(
        f"cannot load the model {name!r}: {first}",
        hint="Give vllm: a Hugging Face id, or a folder with config.json, a tokenizer and safetensors.",
    )


def _translated(error: Exception) -> ModelError:
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if type(error).__name__ == "EngineDeadError":
        return ServerUnavailableError(
            f"the vLLM engine died: {text}", hint="See its log lines above for the reason, then run again."
        )
    return ModelError(f"vLLM failed a request: {text}", hint="See its log lines above.")
