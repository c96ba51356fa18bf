"""Deterministic, well-formed and plausible replies: valid instances of any JSON schema, quotes taken verbatim from the
prompt's fenced data, log-probabilities that are higher for words that occur in the context.
"""

from __future__ import annotations

import hashlib
import json
import random
from typing import Any

from scirgen.llm.plausible import Plausible, word_logprobs


def chat_completion(body: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to ``POST /v1/chat/completions``."""
    prompt = _prompt_text(body["messages"])
    text = reply_text(body)
    return {
        "id": f"chatcmpl-{_hash(body)[:12]}",
        "object": "chat.completion",
        "created": 0,
        "model": body["model"],
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop", "logprobs": None}
        ],
        "usage": _usage(prompt, text),
    }


def reply_text(body: dict[str, Any]) -> str:
    """Return the assistant's text: an instance of the requested schema, or a sentence of the data."""
    rng = random.Random(_hash(body))
    prompt = _prompt_text(body["messages"])
    reply = Plausible(prompt, rng)
    wanted = body.get("response_format") or {}
    if wanted.get("type") == "json_schema":
        schema = wanted["json_schema"]["schema"]
    elif (schema := _schema_in(body["messages"][-1]["content"])) is None:
        return reply.plain()
    return json.dumps(reply.instance(schema, schema, "reply"), ensure_ascii=False)


def completion(body: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to ``POST /v1/completions``; with ``echo`` and ``logprobs``, log-probabilities of its prompt.

    Tokens are words with the space before them. A word is more likely the more often it occurred before, so a context
    that contains an answer's words raises its score.
    """
    prompts = body["prompt"] if isinstance(body["prompt"], list) else [body["prompt"]]
    choices = []
    for index, prompt in enumerate(prompts):
        tokens, logprobs, offsets = word_logprobs(prompt)
        choice: dict[str, Any] = {"index": index, "finish_reason": "length", "logprobs": None, "text": ""}
        if body.get("echo"):
            choice["text"] = prompt
        if body.get("max_tokens", 16) > 0 and not body.get("echo"):
            choice["text"] = " " + Plausible(prompt, random.Random(_hash(body))).plain()
        if body.get("logprobs") is not None:
            choice["logprobs"] = {
                "tokens": tokens,
                "token_logprobs": [None, *logprobs[1:]],
                "top_logprobs": None,
                "text_offset": offsets,
            }
        choices.append(choice)
    text = " ".join(prompts)
    return {
        "id": f"cmpl-{_hash(body)[:12]}",
        "object": "text_completion",
        "created": 0,
        "model": body["model"],
        "choices": choices,
        "usage": _usage(text, ""),
    }


def _schema_in(text: str) -> dict[str, Any] | None:
    """Return the schema at the end of a prompt, if the client puts it there."""
    at = text.rfind("\n{")
    if at < 0:
        return None
    try:
        value = json.loads(text[at:])
    except ValueError:
        return None
    return value if isinstance(value, dict) and ("properties" in value or "type" in value) else None


def _prompt_text(messages: list[dict[str, Any]]) -> str:
    return "\n".join(str(m["content"]) for m in messages)


def _usage(prompt: str, text: str) -> dict[str, int]:
    used, made = len(prompt.split()), len(text.split())
    return {"prompt_tokens": used, "completion_tokens": made, "total_tokens": used + made}


def _hash(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
