"""bespokelabs-curator as a row of `benchmarks.throughput`.

Run by the interpreter that has it (``--peer curator=PYTHON``):

PYTHON -m benchmarks._peer_curator URL REQUESTS CONCURRENCY OUT
"""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path

from benchmarks._memory import peak_mb
from benchmarks.throughput import plain_prompt


class _Rough:
    """Stands for tiktoken's encoding where its file cannot be fetched: four characters a token, which costs the peer
    nothing."""

    def encode(self, text: str, **_: object) -> range:
        return range(len(text) // 4)


def _without_a_network() -> None:
    import tiktoken

    try:
        tiktoken.get_encoding("cl100k_base")
    except Exception:
        tiktoken.get_encoding = lambda name: _Rough()
        tiktoken.encoding_for_model = lambda name: _Rough()


def main() -> None:
    """Ask for all rows, write the replies, print [CPU s, start-up CPU s, peak MB, rows] as `benchmarks.throughput`
    does."""
    url, requests, concurrency, out = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    os.environ |= {
        "OPENAI_API_KEY": "none",
        "TELEMETRY_ENABLED": "false",
        "CURATOR_CACHE_DIR": f"{out}.cache",
        "HF_HUB_OFFLINE": "1",
    }
    _without_a_network()
    from bespokelabs import curator
    from datasets import Dataset

    class Writer(curator.LLM):
        # Without a response format: its check that a model can do one asks for something that this server does not
        # know.
        def prompt(self, input: dict[str, str]) -> str:
            return input["prompt"]

        def parse(self, input: dict[str, str], response: str) -> dict[str, str]:
            pairs = json.loads(response)["pairs"]
            assert len(pairs) == 3
            return {"reply": json.dumps(pairs)}

    used = resource.getrusage(resource.RUSAGE_SELF)
    begun = used.ru_utime + used.ru_stime
    writer = Writer(
        model_name="fake",
        backend="openai",
        backend_params={
            "base_url": url,
            "max_concurrent_requests": concurrency,
            "max_requests_per_minute": 10**7,
            "max_tokens_per_minute": 10**10,
            "require_all_responses": False,
        },
    )
    made = writer(Dataset.from_list([{"prompt": plain_prompt(n)} for n in range(requests)]))
    rows = getattr(made, "dataset", made)
    out.write_text("".join(json.dumps(row["reply"]) + "\n" for row in rows))
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps([used.ru_utime + used.ru_stime, begun, peak_mb(), len(rows)]))


if __name__ == "__main__":
    main()
