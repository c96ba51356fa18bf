"""Lines of a batch's output as no server should send them: each costs the one request it answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from scirgen.core.config import Config, ModelsConfig
from scirgen.core.errors import ModelError
from scirgen.testing.batches import Batches
from scirgen.testing.replies import chat_completion
from scirgen.testing.server import FakeServer
from scirgen_services.batch.batch_file import read_answers
from tests.integration.test_batch_api import ask, opened, settings, values


def line(custom_id: object, body: object, status: object = 200) -> bytes:
    return json.dumps({"custom_id": custom_id, "response": {"status_code": status, "body": body}}).encode()


LINES: dict[str, Any] = {
    "not json": lambda i, body: b"{" + i.encode(),
    "deep": lambda i, body: b'{"custom_id": "%s", "response": {"status_code": 200, "body": %s}}'
    % (i.encode(), b"[" * 200_000),
    "deep and closed": lambda i, body: b'{"custom_id": "%s", "response": {"status_code": 200, "body": %s}}'
    % (i.encode(), b"[" * 50_000 + b"]" * 50_000),
    "a list": lambda i, body: json.dumps([i, body]).encode(),
    "no id": lambda i, body: line(None, body),
    "another's id": lambda i, body: line("scirgen-0000", body),
    "no response": lambda i, body: line(i, None).replace(b'"response"', b'"answer"'),
    "a number for a response": lambda i, body: json.dumps({"custom_id": i, "response": 7}).encode(),
    "no body": lambda i, body: line(i, None),
    "a body of text": lambda i, body: line(i, "hello"),
    "a body of a list": lambda i, body: line(i, [body]),
    "no choices": lambda i, body: line(i, {"choices": []}),
    "choices of nonsense": lambda i, body: line(i, {"choices": [7]}),
    "status of text": lambda i, body: line(i, body, "good"),
    "endless status": lambda i, body: line(i, body, 10**30),
    "status that is not a number": lambda i, body: line(i, body, float("nan")),
    "usage of 10**30": lambda i, body: line(i, {**body, "usage": {"prompt_tokens": 10**30, "completion_tokens": -5}}),
    "usage of text": lambda i, body: line(i, {**body, "usage": "much"}),
    "not utf-8": lambda i, body: b'{"custom_id": "\xff\xfe' + i.encode(),
    "half a character": lambda i, body: line(i, body).replace(b'"stop"', b'"\\ud800"'),
    "null bytes": lambda i, body: b"\0" * 1000,
}  # fmt: skip


class HostileBatches(Batches):
    """The last request gets an honest line; each of the others one of `LINES`."""

    def _keep(self, content: bytes) -> str:
        rows = [json.loads(row) for row in content.splitlines()]
        if rows and "response" in rows[0]:
            rows.sort(key=lambda row: row["custom_id"])
            kinds = list(LINES.values())
            content = b"\n".join(
                kinds[n](row["custom_id"], row["response"]["body"]) if n < len(kinds) else json.dumps(row).encode()
                for n, row in enumerate(rows)
            )
        return super()._keep(content)


async def test_each_malformed_line_of_a_batch_fails_its_own_request() -> None:
    async with FakeServer(batches=HostileBatches()) as server, opened(settings(server, retries=0)) as sessions:
        found = values(await ask(sessions, len(LINES) + 5))
        faults = [f for f in found if isinstance(f, BaseException)]
        assert all(isinstance(f, ModelError) for f in faults), [f for f in faults if not isinstance(f, ModelError)]
        # Those whose usage or finish reason alone is nonsense are replies all the same.
        assert len(LINES) - 4 <= len(faults) <= len(LINES) and len(found) - len(faults) >= 5
        assert 0 <= sessions.meter.role("generator").prompt_tokens < 2**53


@pytest.mark.parametrize("kind", LINES)
def test_a_malformed_line_costs_no_other_line(kind: str) -> None:
    good = line("good", {"choices": []})
    body = {"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}
    found = read_answers(b"\n".join([good, LINES[kind]("bad", body), good.replace(b"good", b"best")]))
    assert {"good", "best"} <= set(found)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 50_000 + "]" * 50_000, "9" * 10_000])
async def test_deep_json_is_an_invalid_reply_of_its_own_item(text: str) -> None:
    def reply(body: dict[str, Any]) -> dict[str, Any]:
        made = chat_completion(body)
        made["choices"][0]["message"]["content"] = text
        return made

    async with FakeServer(reply=reply) as server:
        config = Config(models=ModelsConfig(generator=f"openai:fake@{server.url}"))
        async with opened(config) as sessions:
            [found] = await ask(sessions, 1)
        assert isinstance(found, ModelError) and found.error_code == "reply_invalid"
