"""The share of a model server's speed that a client lets through: scirgen's whole stack beside two bare loops, in the
same run.

    python -m benchmarks.throughput [--concurrency 64,128] [--requests 2000] [--rounds 5] [--faults | --kill]
        [--peer curator=PYTHON] [--json FILE]

A fake server on loopback answers each request after 100 ms. A request is a prompt of 4 kB; a reply is three
question-answer pairs, parsed and written. Each row runs in a process of its own; its time begins before the interpreter
starts. "bare aiohttp" and "openai SDK" post, parse and append to a JSONL file. "scirgen" is the real runner, store,
prompt (generate/joint), session, reply cache, validation, and the gates that need no model. Each client first runs once
uncounted, so that its modules are compiled, as those of an installed package are. With ``--rounds``, all rows are
measured that often, in turn, and the table has medians. With ``--faults`` the server answers 10 % of attempts with 429
(Retry-After 0.2 s), 5 % with 500 and 5 % with malformed replies, and the rows must still be complete. With ``--kill``
scirgen's process gets SIGKILL when half of the requests are answered and is started again; the server tells how many
answers it had to give twice: those in flight when the process died, and no stored one.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from benchmarks._memory import peak_mb

LATENCY_S = 0.1
START_CPU: dict[str, float] = {}
PER_DATASET = 16
WORDS = [
    "snow", "depth", "station", "glacier", "lake", "runoff", "albedo", "moisture", "canopy", "soil", "permafrost",
    "basin", "gauge", "plateau", "sensor", "retrieval", "wind", "humidity", "radiation", "monsoon", "vegetation",
    "river", "sediment", "carbon", "ozone", "aerosol", "cloud",
]  # fmt: skip
FIGURES = ("wall_over_ideal", "first_request_s", "cpu_ms_per_request", "start_up_cpu_s", "peak_mb")
FAULTS = {"429": 0.10, "500": 0.05, "truncated_reply": 0.05}


def material(number: int) -> str:
    """About 3 kB of sentences, different for each dataset."""
    rng = random.Random(number)
    lines = []
    while sum(map(len, lines)) < 3000:
        a, b, c, d = rng.sample(WORDS, 4)
        lines.append(
            f"The {a} {b} was measured at {rng.randint(2, 90)} stations "
            f"and compared with {c} {d} in {rng.randint(1960, 2020)}. "
        )
    return "".join(lines)


def plain_prompt(number: int) -> str:
    """A prompt of 4 kB for the bare clients."""
    return ("Write three question-answer pairs about this material, as JSON. " * 14) + material(number) + f" ({number})"


def three_pairs(body: dict[str, Any]) -> dict[str, Any]:
    """The server's reply: three pairs about sentences of the prompt, each quoting its evidence."""
    # A repair turn comes after the material and the faulty reply.
    text = "\n".join(m["content"] for m in body["messages"] if m["role"] == "user")
    sentences = [s.strip() for s in text.replace("\n", " ").split(". ") if s.strip().startswith("The ")]
    at = sum(text.encode()) % max(1, len(sentences) - 3)
    pairs = []
    for sentence in sentences[at : at + 3]:
        words = sentence.split()
        question = f"At how many stations was the {words[1]} {words[2]} measured for the {words[9]} {words[10]}?"
        pairs.append({"evidence": [sentence + "."], "question": question, "answer": f"{words[6]} stations"})
    content = json.dumps({"pairs": pairs})
    return {
        "id": "x", "object": "chat.completion", "created": 0, "model": body["model"],
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}],
        "usage": {"prompt_tokens": len(text) // 4, "completion_tokens": 150, "total_tokens": len(text) // 4 + 150},
    }  # fmt: skip


def serve(faulty: bool) -> None:
    """The server's process: prints its address, then when the first request came, and serves until it is ended."""
    from scirgen.testing.faults import Faults
    from scirgen.testing.server import FakeServer

    first: list[float] = []

    def reply(body: dict[str, Any]) -> dict[str, Any]:
        if not first:
            first.append(time.perf_counter() - LATENCY_S)
            print(first[0], flush=True)
        return three_pairs(body)

    async def run() -> None:
        faults = Faults(FAULTS, retry_after_s=0.2) if faulty else None
        async with FakeServer(latency_s=LATENCY_S, reply=reply, faults=faults) as server:
            print(server.url, flush=True)
            await asyncio.Event().wait()

    asyncio.run(run())


async def attempts(post: Any) -> str:
    """The bare clients' retry loop: eight attempts, Retry-After or 50 ms between them, until three pairs are there."""
    for _ in range(8):
        status, after, text = await post()
        if status == 200:
            try:
                reply = json.loads(text)["choices"][0]["message"]["content"]
                if len(json.loads(reply)["pairs"]) == 3:
                    return str(reply)
            except (ValueError, KeyError):
                pass
        await asyncio.sleep(after)
    raise SystemExit("a row was lost")


def body(number: int) -> dict[str, Any]:
    return {
        "model": "fake",
        "messages": [{"role": "user", "content": plain_prompt(number)}],
        "temperature": 0.7,
        "seed": number,
    }


def begin() -> None:
    """Imports are done: processor time from here on is the requests' own."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    START_CPU["s"] = used.ru_utime + used.ru_stime


async def bare_aiohttp(url: str, requests: int, concurrency: int, out: Path) -> None:
    import aiohttp

    begin()
    slots = asyncio.Semaphore(concurrency)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=concurrency)) as client:
        with out.open("w") as file:

            async def one(number: int) -> None:
                async def post() -> tuple[int, float, bytes]:
                    async with client.post(f"{url}/chat/completions", json=body(number)) as reply:
                        return reply.status, float(reply.headers.get("Retry-After", 0.05)), await reply.read()

                async with slots:
                    file.write(await attempts(post) + "\n")

            await asyncio.gather(*(one(n) for n in range(requests)))


async def bare_sdk(url: str, requests: int, concurrency: int, out: Path) -> None:
    import openai

    begin()
    slots = asyncio.Semaphore(concurrency)
    async with openai.AsyncOpenAI(api_key="none", base_url=url, max_retries=0) as client:
        with out.open("w") as file:

            async def one(number: int) -> None:
                async def post() -> tuple[int, float, str]:
                    try:
                        reply = await client.chat.completions.create(**body(number))
                    except openai.APIStatusError as error:
                        return error.status_code, float(error.response.headers.get("retry-after", 0.05)), ""
                    return 200, 0.05, reply.model_dump_json()

                async with slots:
                    file.write(await attempts(post) + "\n")

            await asyncio.gather(*(one(n) for n in range(requests)))


async def whole_stack(url: str, requests: int, concurrency: int, out: Path) -> None:
    from benchmarks._throughput_run import run

    begin()
    await run(url, requests // PER_DATASET, PER_DATASET, concurrency, out)


PEERS = {"curator": "benchmarks._peer_curator", "distilabel": "benchmarks._peer_distilabel"}
"""The peers that `--peer NAME=PYTHON` can measure: the module that the given interpreter, which has the peer
installed, runs."""

CLIENTS = {"bare aiohttp": bare_aiohttp, "openai SDK + semaphore": bare_sdk, "scirgen": whole_stack}


@contextlib.contextmanager
def _served(faulty: bool) -> Iterator[tuple[str, IO[str]]]:
    """A server in a process of its own; its address, and its further output."""
    command = [sys.executable, "-m", "benchmarks.throughput", "--serve", *(["--faults"] if faulty else [])]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        yield server.stdout.readline().strip(), server.stdout
    finally:
        server.terminate()
        server.wait()


def _command(client: str, url: str, requests: int, concurrency: int, folder: str) -> list[str]:
    own = [sys.executable, "-m", "benchmarks.throughput", "--client"]
    return [*own, client, url, str(requests), str(concurrency), f"{folder}/out"]


def measure(
    client: str, concurrency: int, requests: int, faulty: bool, peer_python: str | None = None
) -> dict[str, Any]:
    """One row, with a server and a client process of its own; a peer's in the interpreter that has it."""
    compiling = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with _served(faulty) as (url, output), tempfile.TemporaryDirectory() as folder:
        command = _command(client, url, requests, concurrency, folder)
        if peer_python is not None:
            command = [peer_python, "-m", PEERS[client], url, str(requests), str(concurrency), f"{folder}/out"]
        began = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=compiling)
        wall = time.perf_counter() - began
        if done.returncode != 0:
            raise SystemExit(f"{client} failed:\n{done.stdout}\n{done.stderr[-3000:]}")
        first = float(output.readline())
    cpu, start_cpu, peak, rows = json.loads(done.stdout.splitlines()[-1])
    ideal = requests / concurrency * LATENCY_S
    return {
        "client": client, "concurrency": concurrency, "requests": requests, "wall_s": round(wall, 2),
        "wall_over_ideal": round(wall / ideal, 2), "first_request_s": round(first - began, 2),
        "cpu_ms_per_request": round(1000 * (cpu - start_cpu) / requests, 2),
        "start_up_cpu_s": round(start_cpu, 2), "peak_mb": round(peak), "rows": rows,
    }  # fmt: skip


def measure_kill(concurrency: int, requests: int) -> dict[str, object]:
    """scirgen killed at half and run to its end.

    ``sent_again``: answers that the server gave a second time; ``stored_sent_again``: those beyond the ones that had
    left the server and were not in the store when the process died.
    """
    with _served(faulty=False) as (url, _), tempfile.TemporaryDirectory() as folder:
        stats = url.removesuffix("/v1") + "/stats"
        command = _command("scirgen", url, requests, concurrency, folder)
        victim = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while victim.poll() is None and _read(stats)["answered"] < requests // 2:
            time.sleep(0.02)
        victim.kill()
        victim.communicate()
        time.sleep(2 * LATENCY_S)
        at_kill = _read(stats)["answered"]
        with contextlib.closing(sqlite3.connect(f"{folder}/out.run/run.db")) as db:
            stored = db.execute("SELECT COUNT(*) FROM replies").fetchone()[0]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"the second run failed:\n{done.stderr[-3000:]}")
        answered = _read(stats)["requests"]
        rows = json.loads(done.stdout.splitlines()[-1])[3]
    again = sum(n - 1 for n in answered.values())
    return {
        "client": "scirgen, killed at half", "concurrency": concurrency, "requests": requests,
        "answered_before_the_kill": at_kill, "stored_before_the_kill": stored, "sent_again": again,
        "stored_sent_again": again - (at_kill - stored), "rows": rows,
    }  # fmt: skip


def _read(address: str) -> dict[str, Any]:
    with urllib.request.urlopen(address) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def main() -> None:
    """Measure all rows and print them as a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--concurrency", default="64,128")
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--faults", action="store_true")
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--only", choices=CLIENTS)
    parser.add_argument(
        "--peer", action="append", default=[], metavar="NAME=PYTHON", help=f"known: {', '.join(PEERS)}; repeatable"
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--client", nargs=5, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.faults)
        return
    if arguments.client:
        client, url, requests, concurrency, out = arguments.client
        asyncio.run(CLIENTS[client](url, int(requests), int(concurrency), Path(out)))
        used = resource.getrusage(resource.RUSAGE_SELF)
        rows = len(Path(out).read_text().splitlines())
        print(json.dumps([used.ru_utime + used.ru_stime, START_CPU.get("s", 0.0), peak_mb(), rows]))
        return
    if arguments.kill:
        rows = [measure_kill(int(c), arguments.requests) for c in arguments.concurrency.split(",")]
        print("| client | concurrency | answered | stored | sent again | stored and sent again | rows |")
        print("|---|---|---|---|---|---|---|")
        for row in rows:
            print("|", " | ".join(str(row[k]) for k in row if k != "requests"), "|")
        if arguments.json:
            arguments.json.write_text(json.dumps({"kill": True, "rows": rows}, indent=2) + "\n")
        return
    rows = _measured(arguments)
    print(
        "| client | concurrency | wall/ideal | first request after s "
        "| CPU ms/request | start-up CPU s | peak MB | rows |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for client, concurrency in dict.fromkeys((row["client"], row["concurrency"]) for row in rows):
        own = [row for row in rows if (row["client"], row["concurrency"]) == (client, concurrency)]
        figures = (f"{statistics.median(row[figure] for row in own):.4g}" for figure in FIGURES)
        print(f"| {client} | {concurrency} |", " | ".join(figures), f"| {min(row['rows'] for row in own)} |")
    if arguments.json:
        arguments.json.write_text(json.dumps({"faults": arguments.faults, "rows": rows}, indent=2) + "\n")


def _measured(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    clients: dict[str, str | None] = dict.fromkeys([arguments.only] if arguments.only else CLIENTS)
    clients |= dict(peer.split("=", 1) for peer in arguments.peer)
    widths = [int(width) for width in arguments.concurrency.split(",")]
    for client, python in clients.items():
        measure(client, PER_DATASET, PER_DATASET, arguments.faults, python)
    rows = []
    for _ in range(arguments.rounds):
        for width in widths:
            for client, python in clients.items():
                row = measure(client, width, arguments.requests, arguments.faults, python)
                rows.append(row)
                print(client, width, *(f"{figure} {row[figure]}" for figure in FIGURES), file=sys.stderr, flush=True)
    return rows


if __name__ == "__main__":
    main()
