"""Measures the speed of SePer scores: 54 pairs on one 1,500-token context of ScIRGen-Geo: naive, ours, vLLM, the
published procedure.

``naive`` is one pair, one forward pass with all logits; ``naive_tail`` the same with the answer's logits only.
``floor`` is
one forward pass over the unique tokens and nothing else. Ratios are of pairs a second in the same run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.geo_pairs import Entry, entries
from scirgen.llm.base import ScoreReply, ScoreRequest

Values = list[tuple[float, ...]]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.seper", description=__doc__)
    parser.add_argument("--model", default="bundled:smollm2-135m", help="bundled:smollm2-135m or hf:ID_OR_DIR")
    parser.add_argument("--vllm-model", help="ID or folder for the vLLM engines (default: --model without its scheme)")
    parser.add_argument("--engines", default="floor,naive,naive_tail,ours,published", help="also: vllm, vllm_cache")
    parser.add_argument("--pairs", type=int, default=54)
    parser.add_argument("--context-tokens", type=int, default=1500)
    parser.add_argument(
        "--sample", type=int, default=6, help="pairs that naive and published run on, each costing the same"
    )
    parser.add_argument("--repeat", type=int, default=1, help="the median of this many runs, engines taking turns")
    parser.add_argument(
        "--clock", choices=("wall", "cpu"), default="wall", help="cpu: CPU seconds of this process and its children"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="", help="float32, bfloat16; default: the backend's own")
    parser.add_argument("--json", type=Path, help="write {'rows': [...]} here")
    parser.add_argument("--default", action="store_true", help="time the filter's default on labelled pairs instead")
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
    if arguments.default:
        asyncio.run(default(arguments))
        return
    result = asyncio.run(measure(arguments))
    print_table(result["rows"])
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


class Clock:
    """Seconds, of the wall or of the CPU; the latter is fairer on a machine that others use too."""

    def __init__(self, kind: str) -> None:
        self.now: Callable[[], float] = cpu_seconds if kind == "cpu" else time.perf_counter


def cpu_seconds() -> float:
    """CPU seconds of this process and all its living and finished children (Linux)."""
    tick = os.sysconf("SC_CLK_TCK")
    parents, used = {}, {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(folder.name)] = int(fields[1])
            used[int(folder.name)] = sum(map(int, fields[11:15])) / tick
    mine = {os.getpid()}
    for _ in range(8):
        mine |= {pid for pid, parent in parents.items() if parent in mine}
    return sum(used[pid] for pid in mine if pid in used)


def requests_of(entry: Entry, tokenizer: Any, context_tokens: int, pairs: int) -> list[ScoreRequest]:
    """With-context requests first, then those without; the context is cut to its first ``context_tokens`` tokens."""
    ids = tokenizer(entry.context, add_special_tokens=False)["input_ids"][:context_tokens]
    context = tokenizer.decode(ids)
    chosen = entry.pairs[:pairs]
    with_it = [ScoreRequest(f"Context:\n{context}\n\nQuestion: {p.question}\nAnswer:", f" {p.answer}") for p in chosen]
    return with_it + [ScoreRequest(f"Question: {p.question}\nAnswer:", f" {p.answer}") for p in chosen]


def chosen_entry(tokenizer: Any, context_tokens: int, pairs: int) -> Entry:
    """The first dataset (by hash) with a context long enough; pairs of further ones fill up to ``pairs``."""
    every = list(entries("train"))
    first = next(
        e for e in every if len(tokenizer(e.context)["input_ids"]) >= context_tokens and len(e.pairs) >= min(pairs, 40)
    )
    more = [p for e in every if e.id != first.id for p in e.pairs[:1]]
    return Entry(first.id, first.title, first.context, (first.pairs + tuple(more))[:pairs])


async def default(arguments: argparse.Namespace) -> None:
    """The filter's default beside the shift alone: seconds a pair on labelled answers, with their evidence."""
    from benchmarks.ablation import scoring
    from benchmarks.labelled_pairs import rows
    from scirgen.core.config import Config, FilterConfig, ModelsConfig
    from scirgen.stages.filter.base import Material
    from scirgen.stages.filter.deciding import score_all

    pairs = [r.pair for r in rows() if r.made in ("written", "close")][: arguments.pairs]
    clock = Clock(arguments.clock)
    for name in ("shift", "shift", "auto"):  # the first one warms up
        config = Config(models=ModelsConfig(generator=arguments.model), filter=FilterConfig(faithfulness=(name,)))
        async with scoring(arguments.model, config, ":memory:") as ctx:
            start = clock.now()
            found = await score_all(pairs, Material(None), ctx)
        scores = sorted({s.name for pair, _ in found.values() for s in pair.scores})
        print(f"{name} ({', '.join(scores)}): {1000 * (clock.now() - start) / len(pairs):.1f} ms a pair")


async def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    import torch

    from scirgen.llm.tokens.prefixes import common_prefix
    from scirgen_embedded.model import bundled_file
    from scirgen_local.loading import load_causal_lm
    from scirgen_local.shared_prefix import SharedPrefixEngine
    from scirgen_local.transformers_scoring import TransformersScoring

    torch.set_num_threads(arguments.threads)
    scheme, _, name = arguments.model.partition(":")
    options = {k: v for k, v in (("device", arguments.device), ("dtype", arguments.dtype)) if v}
    loaded = load_causal_lm(str(bundled_file()) if scheme == "bundled" else name, options)
    scoring = TransformersScoring.of(loaded)
    requests = requests_of(
        chosen_entry(loaded.tokenizer, arguments.context_tokens, arguments.pairs), loaded.tokenizer,
        arguments.context_tokens, arguments.pairs,
    )  # fmt: skip
    pairs = len(requests) // 2
    encoded = [scoring._encode(r) for r in requests]
    sequences = [(e.ids, e.first) for e in encoded]
    read = sorted(ids[:-1] for ids, _ in sequences)
    unique = len(read[0]) + sum(len(b) - common_prefix(a, b) for a, b in pairwise(read))
    tokens = {"floor": unique, "ours": unique}
    total = sum(len(ids) for ids, _ in sequences)
    print(f"{pairs} pairs; {total} tokens, {unique} of them unique; longest {max(len(i) for i, _ in sequences)}")
    plain = SharedPrefixEngine(loaded.model, 2**30)
    scoring.engine.logprobs(sequences[-2:])  # warm up, and the check whether the model can share
    some = min(arguments.sample, pairs)
    picked = [i for k in range(some) for i in (k * pairs // some, pairs + k * pairs // some)]
    clock = Clock(arguments.clock)
    times: dict[str, list[float]] = {}
    values: dict[str, Values] = {}
    vllm = VLLM(arguments, name) if "vllm" in arguments.engines else None
    for _ in range(arguments.repeat):
        for engine in arguments.engines.split(","):
            if vllm is not None and engine.startswith("vllm"):
                # Naive runs on a part of the pairs; vLLM's slow way, too.
                part = requests if engine == "vllm_cache" else [requests[i] for i in picked]
                await vllm.ready(engine)
                start = clock.now()
                values[engine] = await vllm.score(engine, part)
                scale = len(requests) / len(part)
            else:
                start = clock.now()
                if engine == "floor":
                    floor(loaded.model, sequences, unique, arguments.context_tokens)
                    scale = 1.0
                elif engine in ("naive", "naive_tail"):
                    some_of_them = [sequences[i] for i in picked]
                    values[engine] = (
                        naive(loaded.model, some_of_them) if engine == "naive" else plain.one_by_one(some_of_them)
                    )
                    scale = len(sequences) / len(picked)
                elif engine == "ours":
                    values[engine] = scoring.engine.logprobs(sequences)
                    scale = 1.0
                elif engine == "published":
                    published(loaded, [requests[i] for i in picked[:4]])
                    scale = pairs / 2
                else:
                    raise SystemExit(f"unknown engine {engine!r}")
            times.setdefault(engine, []).append((clock.now() - start) * scale)
            print(f"  {engine}: {times[engine][-1]:.2f} s for all pairs", flush=True)
    if vllm is not None:
        await vllm.close()
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {arguments.threads} threads, "
        f"{arguments.clock} clock, {loaded.device}",
        "tokens": {"total": total, "unique": unique, "context": arguments.context_tokens, "pairs": pairs},
        "rows": list(rows_of(times, values, picked, pairs, str(loaded.identity), tokens)),
    }


def rows_of(
    times: dict[str, list[float]],
    values: dict[str, Values],
    picked: Sequence[int],
    pairs: int,
    model: str,
    tokens: dict[str, int],
) -> Any:
    def median(engine: str) -> float | None:
        found = sorted(times.get(engine, []))
        return found[len(found) // 2] if found else None

    naive, bottom, reference = median("naive"), median("floor"), values.get("naive")
    for engine in times:
        seconds = median(engine) or float("nan")
        mine = values.get(engine)
        worst = None
        if mine and reference:
            same = mine if len(mine) == len(reference) else [mine[i] for i in picked]
            worst = max(abs(a - b) for x, y in zip(same, reference, strict=True) for a, b in zip(x, y, strict=True))
        yield {
            "engine": engine, "model": model, "pairs_per_s": pairs / seconds,
            "ratio_to_naive": naive / seconds if naive else None,
            "floor_ratio": seconds / bottom if bottom else None,
            "max_abs_diff": worst, "seconds": seconds,
            "tokens_per_pair": tokens[engine] / pairs if tokens.get(engine) else None,
        }  # fmt: skip


def naive(model: Any, sequences: Sequence[Any]) -> Values:
    """Score in the simplest way: one pair, one forward pass, the log-softmax of all logits."""
    import torch

    values: Values = []
    for ids, first in sequences:
        with torch.inference_mode():
            logits = model(input_ids=torch.tensor([ids], device=model.device)).logits[0, :-1].float()
            logprobs = logits.log_softmax(dim=-1).gather(1, torch.tensor(ids[1:], device=model.device)[:, None])[:, 0]
            values.append(tuple(logprobs[first - 1 :].tolist()))
    return values


def floor(model: Any, sequences: Sequence[Any], unique: int, width: int) -> None:
    """A forward pass over as many tokens as are unique, in rows as long as the context, without any logits to speak
    of."""
    import torch

    ids = list(sequences[0][0])
    with torch.inference_mode():
        done = 0
        while done < unique:
            size = min(width, unique - done)
            row = torch.tensor([(ids * 2)[:size]], device=model.device)
            model(input_ids=row, use_cache=False, logits_to_keep=1)
            done += size
        if model.device.type == "cuda":
            torch.cuda.synchronize()


def published(loaded: Any, requests: Sequence[ScoreRequest], samples: int = 10) -> None:
    """SePer as published, without its entailment model: ten sampled responses each way, weighed by their likelihood."""
    import torch

    for request in requests:
        inputs = loaded.tokenizer(request.prompt, return_tensors="pt").to(loaded.device)
        with torch.inference_mode():
            loaded.model.generate(
                **inputs, do_sample=True, temperature=1.0, num_return_sequences=samples, max_new_tokens=32,
                output_scores=True, return_dict_in_generate=True, pad_token_id=loaded.tokenizer.pad_token_id,
            )  # fmt: skip


class VLLM:
    """The two ways of vLLM, each with an empty cache."""

    def __init__(self, arguments: argparse.Namespace, name: str) -> None:
        self.arguments, self.name = arguments, arguments.vllm_model or name
        self._open: dict[str, Any] = {}

    async def ready(self, engine: str) -> None:
        from scirgen.core.config import LimitsConfig, ModelsConfig
        from scirgen.llm.uri import ModelURI
        from scirgen_scale.vllm_local import VLLMScoring

        if engine not in self._open:
            way = "prefix_cache" if engine == "vllm_cache" else "prompt_logprobs"
            options: dict[str, object] = {"vllm_scoring": way, "max_model_len": 4096}
            if self.arguments.dtype:
                options["dtype"] = self.arguments.dtype
            scoring = VLLMScoring(ModelURI("vllm", self.name), ModelsConfig(options=options), LimitsConfig())
            await scoring.start()
            await scoring.score([ScoreRequest("The sky is", " blue and"), ScoreRequest("Water is", " wet")])
            self._open[engine] = scoring
        await (await self._open[engine].engine._started()).reset_prefix_cache()

    async def score(self, engine: str, requests: Sequence[ScoreRequest]) -> Values:
        replies = await self._open[engine].score(requests)
        assert all(isinstance(r, ScoreReply) for r in replies), replies
        return [r.logprobs for r in replies]

    async def close(self) -> None:
        for scoring in self._open.values():
            await scoring.aclose()


def print_table(rows: Sequence[dict[str, Any]]) -> None:
    """A Markdown table."""
    print(
        "\n| engine | tokens a pair | pairs/s | x naive | time / floor | largest difference to naive |"
        "\n|---|---|---|---|---|---|"
    )
    for row in rows:
        shown = [
            "-" if row.get(k) is None else form.format(row[k])
            for k, form in (
                ("tokens_per_pair", "{:.0f}"),
                ("pairs_per_s", "{:.3f}"),
                ("ratio_to_naive", "{:.1f}"),
                ("floor_ratio", "{:.2f}"),
                ("max_abs_diff", "{:.1e}"),
            )
        ]
        print("| " + " | ".join([row["engine"], *shown]) + " |")


if __name__ == "__main__":
    main()
