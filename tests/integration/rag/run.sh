#!/bin/sh
# make test-rag: LlamaIndex and Ragas in a venv of their own (they bring a hundred packages), and the tests that read with them.
set -eu
cd "$(dirname "$0")/../../.."
VENV=.venv-rag
if [ ! -e "$VENV/.scirgen" ]; then
  [ -d "$VENV" ] || "${PYTHON:-python3}" -m venv "$VENV"
  # Ragas 0.4.3 imports a module that langchain-community dropped with 0.4.
  # It holds langchain and openai below the versions that scirgen asks for; writing a release needs neither's newest.
  "$VENV/bin/pip" install --quiet --disable-pip-version-check --no-deps --editable .
  "$VENV/bin/pip" install --quiet --disable-pip-version-check 'langchain-text-splitters<1' bm25s click defusedxml google-re2 httpx2 \
    jinja2 json-repair jsonlines numpy py3langid pydantic pylatexenc PyStemmer python-iso639 pyyaml rapidfuzz rich selectolax sentencex \
    llama-index-core==0.14.25 ragas==0.4.3 'langchain-community<0.4' 'pytest>=8.3' 'pytest-asyncio>=0.25' 'pytest-timeout>=2.3' 'pytest-socket>=0.7' 'hypothesis>=6'
  touch "$VENV/.scirgen"
fi
"$VENV/bin/python" -m pytest -q -m rag tests/integration/rag "$@"
