"""distilabel as a row of `benchmarks.throughput`: run by the interpreter that has it (``--peer distilabel=PYTHON``).

PYTHON -m benchmarks._peer_distilabel URL REQUESTS CONCURRENCY OUT
"""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path

from benchmarks._memory import peak_mb
from benchmarks.throughput import plain_prompt


def _cpu_s() -> float:
    """Processor time of this process and of those it waited for: each step of a pipeline is a process."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def main() -> None:
    """Ask for all rows, write the replies, print [CPU s, start-up CPU s, peak MB, rows] as `benchmarks.throughput`
    does."""
    url, requests, concurrency, out = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    os.environ |= {"HF_HUB_OFFLINE": "1"}
    from distilabel.models import OpenAILLM
    from distilabel.pipeline import Pipeline
    from distilabel.steps import LoadDataFromDicts
    from distilabel.steps.tasks import TextGeneration

    begun = _cpu_s()
    rows = [{"instruction": plain_prompt(n)} for n in range(requests)]
    with Pipeline(cache_dir=f"{out}.cache") as pipeline:
        loaded = LoadDataFromDicts(data=rows, batch_size=concurrency)
        asked = TextGeneration(llm=OpenAILLM(model="fake", base_url=url, api_key="none"), input_batch_size=concurrency)
        loaded >> asked
    made = pipeline.run(use_cache=False)["default"]["train"]
    with out.open("w") as file:
        for reply in made["generation"]:
            pairs = json.loads(reply)["pairs"]
            assert len(pairs) == 3
            file.write(json.dumps(pairs) + "\n")
    print(json.dumps([_cpu_s(), begun, peak_mb(), len(made)]))


if __name__ == "__main__":
    main()
