"""``batch:NAME@URL`` against a Batch API on loopback: collected, resumed, nothing paid for twice, every fault an item's
own."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from pydantic import BaseModel

from scirgen.api import resolve_config, run_pipeline
from scirgen.commands.doctor import repair
from scirgen.core.config import Config, LimitsConfig, ModelsConfig
from scirgen.core.errors import ConfigError, ModelError, RateLimitedError, ServerUnavailableError
from scirgen.core.registry import load_registry
from scirgen.core.text.untrusted import fence
from scirgen.llm.cache import ReplyCache
from scirgen.llm.open import Sessions, open_sessions
from scirgen.pipeline.observer import Observer
from scirgen.pipeline.store import Store
from scirgen.testing.batches import Batches
from scirgen.testing.faults import Faults
from scirgen.testing.server import FakeServer
from scirgen_services.batch.batch_journal import Arrived, BatchJournal, OpenBatch
from tests.support.models import prompt
from tests.support.waiting import until

DATA = fence("Snow depth was measured at 40 stations. The lake lost two metres of water in ten years.")
QUICK: dict[str, object] = {"batch_lull_s": 0.02, "batch_poll_s": 0.01}


class Pairs(BaseModel):
    pairs: list[str]


def settings(server: FakeServer, scheme: str = "batch", retries: int = 3, **options: object) -> Config:
    models = ModelsConfig(generator=f"{scheme}:fake@{server.url}", options={**QUICK, **options})
    return Config(models=models, limits=LimitsConfig(retries=retries, timeout_s=5.0))


@asynccontextmanager
async def opened(config: Config, cache: ReplyCache | None = None) -> AsyncIterator[Sessions]:
    sessions = await open_sessions(config, load_registry(), cache, needs_scores=False)
    try:
        yield sessions
    finally:
        await sessions.aclose()


async def ask(sessions: Sessions, count: int) -> list[object]:
    asked = (sessions.chat.ask(prompt(f"{n}\n{DATA}"), Pairs, seed=n) for n in range(count))
    return await asyncio.gather(*asked, return_exceptions=True)


def values(answers: list[object]) -> list[object]:
    return [getattr(a, "value", a) for a in answers]


async def test_many_requests_make_one_batch_with_the_live_replies() -> None:
    async with FakeServer() as server:
        async with opened(settings(server)) as sessions:
            batched = values(await ask(sessions, 60))
            usage = sessions.meter.role("generator")
            assert usage.calls == 60 and usage.prompt_tokens > 0
        assert len(server.batches.made) == 1 and max(server.answered.values()) == 1
        live = Config(models=ModelsConfig(generator=f"openai:fake@{server.url}"))
        async with opened(live) as sessions:
            assert values(await ask(sessions, 60)) == batched


async def test_a_batch_is_sent_when_it_is_full_without_waiting_for_a_lull() -> None:
    async with FakeServer() as server, opened(settings(server, batch_requests=10, batch_lull_s=600)) as sessions:
        assert all(isinstance(v, Pairs) for v in values(await ask(sessions, 20)))
        assert len(server.batches.made) == 2


async def test_batches_left_behind_are_collected_by_the_next_process() -> None:
    async with FakeServer(batches=Batches(seconds=0.3)) as server:
        cache = ReplyCache.open()
        async with opened(settings(server), cache) as sessions:
            asking = asyncio.ensure_future(ask(sessions, 8))
            await until(lambda: server.batches.made)
        await asyncio.gather(asking, return_exceptions=True)
        assert not server.answered and len(cache) == 0
        async with opened(settings(server), cache) as sessions:
            first = await ask(sessions, 3)  # the others' replies come to nobody, and are kept
        async with opened(settings(server), cache) as sessions:
            rest = values(await ask(sessions, 8))
        assert all(isinstance(v, Pairs) for v in (*values(first), *rest))
        assert len(server.batches.made) == 1 and set(server.answered.values()) == {1}
        left = cache.writer.db.execute("SELECT COUNT(*) FROM batch_replies").fetchone()
        assert left == (0,), "what the reply cache holds is not kept twice"


async def test_the_lost_answer_to_a_creation_makes_no_second_batch() -> None:
    async with FakeServer(batches=Batches(lose_answers=1)) as server, opened(settings(server)) as sessions:
        assert all(isinstance(v, Pairs) for v in values(await ask(sessions, 4)))
        assert len(server.batches.made) == 1


async def test_a_process_killed_while_creating_a_batch_finds_it_again() -> None:
    async with FakeServer() as server:
        cache = ReplyCache.open()
        config = settings(server)
        async with opened(config, cache) as sessions:
            await ask(sessions, 2)
        (made,) = server.batches.made.values()
        journal = BatchJournal(cache.writer, f"fake@{server.url}")
        cache.writer.db.execute("DELETE FROM replies")
        requests = [line.split(b'"')[3].decode() for line in server.batches.files[made["input_file_id"]].splitlines()]
        journal.intend(made["metadata"]["scirgen"], requests)  # as it stood before the server's answer came
        journal.intend("never-created", ["scirgen-other"])
        async with opened(config, cache) as sessions:
            assert all(isinstance(v, Pairs) for v in values(await ask(sessions, 2)))
        assert len(server.batches.made) == 1 and not journal.open_batches()


def test_a_repaired_store_still_knows_its_batches(tmp_path: Path) -> None:
    with Store(tmp_path / "run.db") as store:
        journal = BatchJournal(store.writer, "server")
        for name, requests in (("open", ["a", "b"]), ("ended", ["c"])):
            journal.intend(name, requests)
        journal.created("open", "batch_1")
        journal.collected("ended", {"c": Arrived(200, {"text": "reply"})})
    repair(tmp_path)
    with Store(tmp_path / "run.db") as store:
        journal = BatchJournal(store.writer, "server")
        assert journal.open_batches() == [OpenBatch("open", "batch_1", frozenset("ab"))]
        assert journal.reply("c") == Arrived(200, {"text": "reply"})


@pytest.mark.parametrize("fault", ["429_bare", "500", "503"])
async def test_requests_that_failed_in_passing_go_into_the_next_batch(fault: str) -> None:
    async with FakeServer(faults=Faults({fault: 0.4}, seed=1)) as server:
        async with opened(settings(server, retries=12)) as sessions:
            assert all(isinstance(v, Pairs) for v in values(await ask(sessions, 20)))
            assert sessions.chat.retried > 0
        assert max(server.answered.values()) == 1


async def test_request_that_keeps_failing_ends_with_its_own_error() -> None:
    async with FakeServer(faults=Faults({"500": 1.0})) as server, opened(settings(server, retries=2)) as sessions:
        answers = await ask(sessions, 3)
        assert all(isinstance(a, ServerUnavailableError) and a.retryable and not a.fatal for a in answers)
        assert len(server.batches.made) == 3


async def test_what_an_expired_batch_left_out_is_asked_again_and_the_rest_is_not() -> None:
    async with FakeServer(batches=Batches(ends=["expired"])) as server, opened(settings(server)) as sessions:
        assert all(isinstance(v, Pairs) for v in values(await ask(sessions, 10)))
        assert len(server.batches.made) == 2 and set(server.answered.values()) == {1}


async def test_requests_of_a_cancelled_batch_fail_and_are_asked_next_run() -> None:
    async with FakeServer(batches=Batches(ends=["cancelled"])) as server:
        cache = ReplyCache.open()
        async with opened(settings(server), cache) as sessions:
            answers = await ask(sessions, 10)
        failed = [a for a in answers if isinstance(a, ModelError)]
        assert len(failed) == 5 and {e.error_code for e in failed} == {"batch_cancelled"}
        async with opened(settings(server), cache) as sessions:
            assert all(isinstance(v, Pairs) for v in values(await ask(sessions, 10)))
        assert set(server.answered.values()) == {1}


async def test_a_batch_the_server_does_not_take_is_said_in_its_words() -> None:
    async with FakeServer(batches=Batches(ends=["failed"])) as server, opened(settings(server)) as sessions:
        answers = await ask(sessions, 2)
        assert all(isinstance(a, ModelError) and "Invalid input file" in a.message for a in answers)


async def test_an_unknown_model_is_fatal_with_one_batch() -> None:
    async with FakeServer(model="other") as server, opened(settings(server)) as sessions:
        answers = await ask(sessions, 5)
        assert all(isinstance(a, ModelError) and a.fatal and "does not exist" in a.message for a in answers)
        assert len(server.batches.made) == 1


async def test_server_without_json_schema_is_asked_in_another_form_next() -> None:
    async with FakeServer(json_schema=False) as server, opened(settings(server)) as sessions:
        assert all(isinstance(v, Pairs) for v in values(await ask(sessions, 4)))
        assert len(server.batches.made) == 2  # with json_schema, and with the schema in the prompt


async def test_several_servers_or_another_engine_are_refused() -> None:
    two = Config(models=ModelsConfig(generator="batch:m@http://127.0.0.1:1/v1,http://127.0.0.1:2/v1"))
    with pytest.raises(ConfigError, match="one server"):
        await open_sessions(two, load_registry(), needs_scores=False)
    ray = Config(models=ModelsConfig(generator="batch:m@http://127.0.0.1:1/v1"), engine="ray")
    with pytest.raises(ConfigError, match="does not work with engine"):
        await open_sessions(ray, load_registry(), needs_scores=False)


def test_a_batch_over_the_servers_token_limit_is_a_matter_of_rate() -> None:
    from scirgen_services.batch.batch_file import fault_of

    errors = {"data": [{"code": "token_limit_exceeded", "message": "Enqueued token limit reached"}]}
    assert isinstance(fault_of(None, {"status": "failed", "errors": errors}, "batch:m"), RateLimitedError)


async def test_run_in_batches_equals_the_live_run_byte_for_byte(tmp_path: Path) -> None:
    async with FakeServer() as server:
        for name in ("openai", "batch"):
            flags: dict[str, object] = {
                "models.generator": f"{name}:fake@{server.url}",
                "models.options": {**QUICK, "batch_lull_s": 0.3} if name == "batch" else {},
                "models.scorer": f"openai:fake@{server.url}",
                "filter.faithfulness": [],
                "generate.types": ["verification", "definition", "comparison"],
            }
            loaded, domain = resolve_config(domain="geo", flags=flags)
            run = await run_pipeline(tmp_path / name, loaded.config, domain, observer=Observer())
            assert run.outcome is not None and run.outcome.status == "success"
        # How many requests a batch collects depends on the machine's load; that many come together is another test's to
        # show.
        assert len(server.answered) > len(server.batches.made) > 0
        assert max(server.answered.values()) == 2  # once live, once in a batch; and each start's probe of the scorer

    def files(folder: Path) -> dict[str, str]:
        return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.glob("*.jsonl"))}

    assert files(tmp_path / "batch" / "release") == files(tmp_path / "openai" / "release") != {}
