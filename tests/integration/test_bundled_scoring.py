"""The shared-prefix engine on the bundled model itself, against one-at-a-time scoring in float32."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from scirgen.llm.base import ScoreReply, ScoreRequest
from scirgen_embedded.model import bundled_file
from scirgen_local.encoding import JointEncoder
from scirgen_local.loading import load_causal_lm
from scirgen_local.transformers_scoring import TransformersScoring

CONTEXT = (
    "The dataset holds daily precipitation of the Tibetan Plateau from 1979 to 2018 at a resolution of one third of a "
    "degree. It merges gauges, reanalysis and satellite retrievals, and was evaluated at independent stations. "
)
ANSWERS = (
    ("Which period does the dataset cover?", " From 1979 to 2018."),
    ("Does it hold daily values?", " Yes"),
    ("What was merged?", " gauges, reanalysis and satellite retrievals"),
)


@pytest.mark.model
def test_bundled_model_scores_equal_naive_ones_and_context_raises_belief() -> None:
    loaded = load_causal_lm(str(bundled_file()), {"dtype": "float32", "device": "cpu"})
    scoring = TransformersScoring.of(loaded)
    requests = [ScoreRequest(f"Context:\n{CONTEXT * 2}\nQuestion: {q}\nAnswer:", a) for q, a in ANSWERS]
    requests += [ScoreRequest(f"Question: {q}\nAnswer:", a) for q, a in ANSWERS]
    replies = scoring.score_now(requests)
    encoded = [JointEncoder(loaded.tokenizer).encode(r) for r in requests]
    naive = scoring.engine.one_by_one([(e.ids, e.first) for e in encoded])
    scores = [r for r in replies if isinstance(r, ScoreReply)]
    assert len(scores) == len(requests)
    for reply, expected in zip(scores, naive, strict=True):
        assert reply.logprobs == pytest.approx(expected, abs=1e-4)
    assert scores[0].mean > scores[3].mean and scores[2].mean > scores[5].mean
