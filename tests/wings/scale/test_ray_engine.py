"""The Ray engine on a cluster of several nodes on this machine: the same release as the local engine, also when a node
dies."""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import scirgen
from scirgen.pipeline.observer import Observer
from scirgen.pipeline.store import StoredResult
from scirgen.testing.server import FakeServer

# Nodes of a Ray cluster reach each other at the machine's own address, not at 127.0.0.1.
pytestmark = [pytest.mark.ray, pytest.mark.enable_socket, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A fake model server in a thread of its own."""
    ready, url = threading.Event(), []
    loop = asyncio.new_event_loop()
    done = asyncio.Event()

    async def serve() -> None:
        async with FakeServer(latency_s=0.02) as running:
            url.append(running.url)
            ready.set()
            await done.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert ready.wait(30)
    yield url[0]
    loop.call_soon_threadsafe(done.set)
    thread.join()


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Three nodes: a head without CPUs for actors, and two workers."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.add_node(num_cpus=1)
    made.add_node(num_cpus=1)
    made.wait_for_nodes()
    yield made
    ray.shutdown()
    made.shutdown()


def generate(out: Path, server: str, observer: Observer | None = None, **settings: object) -> scirgen.Run:
    return scirgen.generate(
        out,
        domain="geo",
        model=f"openai:fake@{server}",
        settings={"limits.concurrency": 8, **settings},
        observer=observer,
    )


def release_bytes(run: scirgen.Run) -> dict[str, str]:
    return {
        str(p.relative_to(run.release)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(run.release.rglob("*"))
        if p.is_file()
    }


class KillsANode(Observer):
    """Takes a worker node away once some model work is done."""

    def __init__(self, cluster: Any) -> None:
        self.cluster = cluster
        self.killed_at = 0.0
        self.seen = 0

    def finished(self, result: StoredResult, *, reused: bool, seconds: float) -> None:
        self.seen += result.stage in ("extract", "generate")
        if self.seen == 5 and not self.killed_at:
            self.killed_at = time.monotonic()
            self.cluster.remove_node(next(iter(self.cluster.worker_nodes)), allow_graceful=False)


def test_same_release_as_local_byte_for_byte(server: str, cluster: Any, tmp_path: Path) -> None:
    local = generate(tmp_path / "local", server)
    on_ray = generate(tmp_path / "ray", server, engine="ray", **{"ray.address": cluster.address})
    assert on_ray.outcome is not None and on_ray.outcome.status == "success"
    assert release_bytes(on_ray) == release_bytes(local)
    assert [p.id for p in on_ray.rows()] == [p.id for p in local.rows()] != []


def test_recipes_give_the_same_tasks_on_ray(server: str, cluster: Any, tmp_path: Path) -> None:
    recipes = {"query.recipes": ["recommend", "facets", "aspects"], "generate.off": True, "filter.faithfulness": []}
    local = generate(tmp_path / "local", server, **recipes)
    on_ray = generate(tmp_path / "ray", server, engine="ray", **{"ray.address": cluster.address}, **recipes)
    assert release_bytes(on_ray) == release_bytes(local)
    assert any(name.startswith("tasks/facets") for name in release_bytes(on_ray))


def test_node_killed_in_mid_run_costs_its_items_only(server: str, cluster: Any, tmp_path: Path) -> None:
    local = generate(tmp_path / "local", server)
    observer = KillsANode(cluster)
    on_ray = generate(tmp_path / "ray", server, observer, engine="ray", **{"ray.address": cluster.address})
    assert observer.killed_at
    assert on_ray.outcome is not None and on_ray.outcome.status == "success"
    assert release_bytes(on_ray) == release_bytes(local)
