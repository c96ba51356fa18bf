"""Save the bundled model as safetensors, the form vLLM reads: ``save_bundled.py FOLDER``."""

from __future__ import annotations

import sys
from typing import Any

from scirgen_embedded.model import bundled_file
from scirgen_local.loading import load_causal_lm


def main(folder: str) -> None:
    loaded = load_causal_lm(str(bundled_file()), {"dtype": "float32", "device": "cpu"})
    model: Any = loaded.model
    # It was dequantised on loading, so the quantisation settings must not be saved.
    model.hf_quantizer = None
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(folder)
    loaded.tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    main(sys.argv[1])
