"""Against a real vLLM with SmolLM2 as safetensors: ``make test-vllm`` sets both up and runs these."""

from __future__ import annotations

import json
import os

import pytest

from scirgen.core.config import LimitsConfig, ModelsConfig
from scirgen.core.errors import ConfigError, ContextTooLongError
from scirgen.llm.base import ChatRequest, Message, Sampling, ScoreReply, ScoreRequest
from scirgen.llm.uri import ModelURI
from scirgen_local.transformers_scoring import TransformersScoring
from scirgen_scale.vllm_local import VLLMChat, VLLMScoring

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(900), pytest.mark.asyncio(loop_scope="module")]
MODEL = os.environ.get("SCIRGEN_VLLM_MODEL", "")
CONTEXT = (
    "The dataset holds daily precipitation of the Tibetan Plateau from 1979 to 2018 at a resolution of one third of a "
    "degree. It merges gauges, reanalysis and satellite retrievals, and was evaluated at independent stations. "
) * 12
OPTIONS: dict[str, object] = {"max_model_len": 2048, "max_num_seqs": 16}


def seper_requests() -> list[ScoreRequest]:
    pairs = [
        ("Which period does the dataset cover?", " From 1979 to 2018."),
        ("Which region does it cover?", " The Tibetan Plateau"),
        ("Does it hold daily values?", " Yes"),
        ("What was merged?", " gauges, reanalysis and satellite retrievals, at one third of a degree"),
    ]
    plain = [ScoreRequest(f"Context:\n{CONTEXT}\nQuestion: {q}\nAnswer:", a) for q, a in pairs]
    plain += [ScoreRequest(f"Question: {q}\nAnswer:", a) for q, a in pairs]
    chat = [ScoreRequest((Message("user", f"{CONTEXT}\n\n{q}"),), a.strip()) for q, a in pairs]
    return [*plain, *chat]


async def opened(kind: type, **options: object):
    if not MODEL:
        pytest.fail("SCIRGEN_VLLM_MODEL is not set: run make test-vllm")
    backend = kind(ModelURI("vllm", MODEL), ModelsConfig(options={**OPTIONS, **options}), LimitsConfig())
    await backend.start()
    return backend


async def test_prefix_cache_scores_equal_prompt_logprobs_and_transformers() -> None:
    requests = seper_requests()
    reference = TransformersScoring(ModelURI("hf", MODEL), ModelsConfig(), LimitsConfig())
    await reference.start()
    expected = await reference.score(requests)
    both = [await opened(VLLMScoring, vllm_scoring=way) for way in ("prefix_cache", "prompt_logprobs")]
    for scoring in both:
        assert scoring.capabilities.logprobs and scoring.identity.backend == "vllm"
        replies = await scoring.score(requests)
        again = await scoring.score(requests)
        for reply, second, wanted in zip(replies, again, expected, strict=True):
            assert isinstance(reply, ScoreReply) and isinstance(second, ScoreReply) and isinstance(wanted, ScoreReply)
            assert reply.tokens == wanted.tokens and reply.prompt_tokens == wanted.prompt_tokens
            assert reply.logprobs == pytest.approx(wanted.logprobs, abs=2e-3)
            assert second.logprobs == pytest.approx(reply.logprobs, abs=1e-4)
    long = await scoring.score([ScoreRequest(CONTEXT * 9, " Yes"), requests[0]])
    assert isinstance(long[0], ContextTooLongError) and isinstance(long[1], ScoreReply)
    for scoring in both:
        await scoring.aclose()


async def test_an_answer_that_is_in_the_cache_itself_is_computed_again() -> None:
    scoring = await opened(VLLMScoring)
    request = ScoreRequest("A list of numbers:", " " + " ".join(str(i) for i in range(300)))
    first = (await scoring.score([request]))[0]
    second = (await scoring.score([request]))[0]
    assert isinstance(first, ScoreReply) and isinstance(second, ScoreReply)
    assert scoring.recomputed == 1
    assert second.logprobs == pytest.approx(first.logprobs, abs=1e-4)
    await scoring.aclose()


async def test_chat_gives_text_and_json_that_follows_a_schema() -> None:
    chat = await opened(VLLMChat)
    messages = (Message("user", f"{CONTEXT}\n\nWhich region does the dataset cover?"),)
    reply = await chat.chat(ChatRequest(messages, sampling=Sampling(max_tokens=24)))
    assert reply.text.strip() and reply.usage.completion_tokens is not None and reply.usage.completion_tokens <= 24
    schema: dict[str, object] = {
        "type": "object",
        "properties": {"answer": {"type": "string", "maxLength": 40}, "sure": {"type": "boolean"}},
        "required": ["answer", "sure"],
        "additionalProperties": False,
    }
    value = json.loads((await chat.chat(ChatRequest(messages, schema, Sampling(max_tokens=80)))).text)
    assert set(value) == {"answer", "sure"} and isinstance(value["sure"], bool)
    choice = await chat.chat(ChatRequest(messages, {"type": "string", "enum": ["Asia", "Africa"]}, Sampling()))
    assert choice.text in ("Asia", "Africa")
    await chat.aclose()


async def test_a_wrong_option_is_refused_before_anything_is_loaded() -> None:
    with pytest.raises(ConfigError, match="vllm_scoring"):
        await opened(VLLMScoring, vllm_scoring="fast")
