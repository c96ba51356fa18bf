# Everything sets itself up: a .venv of its own, then the work. Needs Python 3.11+ and make.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
# make setup CONSTRAINTS=requirements-dev.lock installs the exact versions that the maintainers use.
CONSTRAINTS ?= constraints.txt

$(VENV)/.installed: pyproject.toml $(CONSTRAINTS)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --constraint $(CONSTRAINTS) --editable '.[local,pdf,dev]'
	touch $@

.PHONY: setup demo test lint
setup: $(VENV)/.installed

demo: setup  ## the main job on the packaged sample, with the embedded model
	$(BIN)/scirgen generate --domain geo --out runs/demo

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint  ## everything CI runs
	$(BIN)/pytest -n 2 -m "not browser and not vllm and not rag and not ray and not nightly"

.PHONY: docs
docs: setup  ## the documentation site in docs/_build; warnings are errors, links inside it are checked
	$(BIN)/pip install --quiet --constraint $(CONSTRAINTS) --editable '.[docs]'
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build

.PHONY: test-browser
test-browser: setup  ## the report in headless Chromium (Debian: apt-get install chromium)
	@command -v chromium >/dev/null || { echo "Chromium is not installed: apt-get install chromium"; exit 1; }
	$(BIN)/pytest -m browser

.PHONY: test-vllm
test-vllm:  ## a real vLLM, in a venv of its own (about 5 GB), on the bundled model; needs no GPU
	PYTHON=$(PYTHON) sh tests/integration/vllm/run.sh

.PHONY: test-rag
test-rag:  ## the samples for LlamaIndex and Ragas, read by both, in a venv of their own (about 0.9 GB)
	PYTHON=$(PYTHON) sh tests/integration/rag/run.sh

.PHONY: test-ray
test-ray: setup  ## the Ray engine on a cluster of three nodes on this machine
	$(BIN)/pip install --quiet --constraint $(CONSTRAINTS) --editable '.[ray]'
	$(BIN)/pytest -m ray

.PHONY: proof-check
proof-check: setup  ## the figures of docs/proof.md, from committed files
	$(BIN)/python examples/proof/check.py

.PHONY: sample-check
sample-check: setup  ## the public sample of examples/release, rebuilt from its stores and compared byte for byte
	$(BIN)/python examples/release/build.py --check

.PHONY: nightly
nightly: sample-check  ## what takes too long for every commit: kills, large catalogues, 500 fuzz seeds, all attacks of docs/safety.md
	$(BIN)/pytest -n 2 -m nightly
	SCIRGEN_FUZZ_SEEDS=500 $(BIN)/pytest -q tests/fuzz

.PHONY: fuzz
fuzz: setup  ## 500 broken PDFs (SCIRGEN_FUZZ_SEEDS=N for more); make test tries 50 of them
	SCIRGEN_FUZZ_SEEDS=$${SCIRGEN_FUZZ_SEEDS:-500} $(BIN)/pytest -q -s tests/fuzz
