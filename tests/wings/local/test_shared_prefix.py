from __future__ import annotations

import copy
import random

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from scirgen.core.errors import ModelError  # noqa: E402
from scirgen_local.shared_prefix import SharedPrefixEngine  # noqa: E402
from tests.support.tiny_models import CONFIGS, VOCABULARY, tiny  # noqa: E402

MIB = 2**20
SHARING = [k for k in CONFIGS if k != "qwen3-next-linear"]
Sequences = list[tuple[list[int], int]]


def seper_like(seed: int, pairs: int = 12, context: int = 150) -> Sequences:
    """A header, a context, questions and answers, with and without the context; one answer is a single token."""
    rng = random.Random(seed)

    def tokens(n: int) -> list[int]:
        return [rng.randrange(3, VOCABULARY) for _ in range(n)]

    head, body, middle = tokens(5), tokens(context), tokens(3)
    out: Sequences = []
    for i in range(pairs):
        question, answer = tokens(rng.randrange(4, 12)), tokens(1 if i == 0 else rng.randrange(2, 40))
        for before in (head + body + middle + question, head + middle + question):
            out.append((before + answer, len(before)))
    return out


def worst(a: list[tuple[float, ...]], b: list[tuple[float, ...]]) -> float:
    assert [len(x) for x in a] == [len(y) for y in b]
    return max(abs(p - q) for x, y in zip(a, b, strict=True) for p, q in zip(x, y, strict=True))


def mean(a: list[tuple[float, ...]], b: list[tuple[float, ...]]) -> float:
    all_of_them = [abs(p - q) for x, y in zip(a, b, strict=True) for p, q in zip(x, y, strict=True)]
    return sum(all_of_them) / len(all_of_them)


@pytest.mark.parametrize("kind", SHARING)
def test_shared_scores_equal_naive_scores(kind: str) -> None:
    engine = SharedPrefixEngine(tiny(kind).model, 64 * MIB, pack_tokens=100)
    sequences = seper_like(1)
    found = engine.logprobs(sequences)
    assert engine.computed_tokens < sum(len(s) for s, _ in sequences) / 3, "it did not share the context"
    assert worst(found, engine.one_by_one(sequences)) < 1e-4


def test_shared_scores_equal_naive_scores_with_eager_attention() -> None:
    engine = SharedPrefixEngine(tiny("llama", "eager").model, 64 * MIB, pack_tokens=100)
    sequences = seper_like(2)
    assert worst(engine.logprobs(sequences), engine.one_by_one(sequences)) < 1e-4


@pytest.mark.parametrize("kind", ["llama", "qwen2", "gpt2"])
def test_bfloat16_scores_are_within_a_hundredth_of_naive_float32_ones(kind: str) -> None:
    exact = tiny(kind, spread=0.02)  # the spread with which these architectures are initialised
    sequences = seper_like(3)
    expected = SharedPrefixEngine(exact.model, 64 * MIB).one_by_one(sequences)
    engine = SharedPrefixEngine(copy.deepcopy(exact.model).to(torch.bfloat16), 64 * MIB, pack_tokens=100)
    assert worst(engine.logprobs(sequences), expected) < 1e-2
    assert engine.computed_tokens < sum(len(s) for s, _ in sequences) / 3, "it did not share the context"
    # The tolerance is tight enough to see the context: with and without it the same answers differ by more.
    assert (
        max(abs(a - b) for x, y in zip(expected[::2], expected[1::2], strict=True) for a, b in zip(x, y, strict=True))
        > 0.05
    )


@pytest.mark.parametrize("kind", ["llama", "qwen2", "gpt2"])
def test_sharing_adds_no_error_to_that_of_bfloat16_itself(kind: str) -> None:
    exact = tiny(kind)  # weights this large magnify rounding, as trained ones do
    rough = copy.deepcopy(exact.model).to(torch.bfloat16)
    sequences = seper_like(3)
    expected = SharedPrefixEngine(exact.model, 64 * MIB).one_by_one(sequences)
    engine = SharedPrefixEngine(rough, 64 * MIB, pack_tokens=100)
    shared, naive = engine.logprobs(sequences), engine.one_by_one(sequences)
    assert worst(naive, expected) > 1e-2, "nothing was rounded"
    assert mean(shared, expected) < 1.1 * mean(naive, expected)
    assert mean(shared, naive) < 0.5 * mean(naive, expected)


def test_a_model_with_recurrent_layers_is_scored_one_sequence_at_a_time(caplog: pytest.LogCaptureFixture) -> None:
    engine = SharedPrefixEngine(tiny("qwen3-next-linear").model, 64 * MIB)
    sequences = seper_like(4, pairs=2, context=40)
    assert worst(engine.logprobs(sequences), engine.one_by_one(sequences)) == 0
    assert "one sequence at a time" in caplog.text


def test_a_shared_beginning_is_computed_once() -> None:
    engine = SharedPrefixEngine(tiny("llama").model, 64 * MIB, pack_tokens=4096)
    stem = list(range(3, 60))
    engine.logprobs([([*stem, 70 + i, 71, 72], len(stem)) for i in range(10)])
    assert engine.computed_tokens == len(stem) - 1 + 10 * 3, (
        "the stem's last token predicts each answer, and is read with it"
    )


@given(seed=st.integers(0, 10_000), pack=st.integers(16, 300), drop=st.integers(0, 11))
@settings(max_examples=25, deadline=None)
def test_order_and_company_never_change_a_score(seed: int, pack: int, drop: int) -> None:
    model = _model()
    sequences = seper_like(seed, pairs=6, context=60)
    whole = SharedPrefixEngine(model, 64 * MIB, pack_tokens=pack).logprobs(sequences)
    order = list(range(len(sequences)))
    random.Random(seed).shuffle(order)
    order = [i for i in order if i != drop]
    other = SharedPrefixEngine(model, 64 * MIB, pack_tokens=97).logprobs([sequences[i] for i in order])
    assert worst([whole[i] for i in order], other) < 1e-4


_kept: list[object] = []


def _model() -> object:
    if not _kept:
        _kept.append(tiny("llama").model)
    return _kept[0]


def test_out_of_memory_halves_the_pack_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny("llama").model
    engine = SharedPrefixEngine(model, 64 * MIB, pack_tokens=256)
    sequences = seper_like(5)
    expected = engine.logprobs(sequences)
    real = model.forward
    refused: list[int] = []

    def small_machine(*args: object, **inputs: object) -> object:
        ids = inputs["input_ids"]
        if ids.shape[1] > 60:
            refused.append(ids.shape[1])
            raise torch.OutOfMemoryError("CUDA out of memory")
        return real(*args, **inputs)

    monkeypatch.setattr(model, "forward", small_machine)
    assert worst(engine.logprobs(sequences), expected) < 1e-4
    assert refused and engine.pack_tokens <= 64


def test_out_of_memory_with_the_smallest_pack_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny("llama").model
    engine = SharedPrefixEngine(model, 64 * MIB)
    engine.logprobs(seper_like(6, pairs=1))

    def no_memory(*args: object, **inputs: object) -> object:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")

    monkeypatch.setattr(model, "forward", no_memory)
    with pytest.raises(ModelError) as caught:
        engine.logprobs(seper_like(6))
    assert caught.value.error_code == "out_of_memory" and caught.value.hint


def test_out_of_memory_with_a_single_sequence_is_an_error_with_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny("qwen3-next-linear").model
    engine = SharedPrefixEngine(model, 64 * MIB)
    engine.logprobs(seper_like(6, pairs=1, context=20))

    def no_memory(*args: object, **inputs: object) -> object:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(model, "forward", no_memory)
    with pytest.raises(ModelError) as caught:
        engine.logprobs(seper_like(6, pairs=1))
    assert caught.value.error_code == "out_of_memory" and caught.value.hint


def test_any_other_error_of_the_model_is_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny("llama").model
    engine = SharedPrefixEngine(model, 64 * MIB)
    engine.logprobs(seper_like(6, pairs=1))

    def broken(*args: object, **inputs: object) -> object:
        raise RuntimeError("shape mismatch")

    monkeypatch.setattr(model, "forward", broken)
    with pytest.raises(RuntimeError, match="shape mismatch"):
        engine.logprobs(seper_like(6))


def test_a_small_budget_makes_small_packs_with_the_same_scores() -> None:
    model = tiny("llama").model
    roomy, tight = SharedPrefixEngine(model, 64 * MIB), SharedPrefixEngine(model, MIB // 2)
    sequences = seper_like(7)
    assert worst(roomy.logprobs(sequences), tight.logprobs(sequences)) < 1e-4
    assert tight.forward_passes > roomy.forward_passes
