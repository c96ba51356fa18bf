"""Decision models: a server answers typed questions about one text with a probability each (``POST /decisions``).

The form is that of the openai client since version 3.54: a statement has a probability, a choice has one for each
option, and any question may be refused by itself. `calibrate` fits thresholds; no accuracy is claimed. A call is a chat
request: its message is the text, and each property of its schema is a question. So the cache, usage and caps are those
of any chat model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import BaseModel, Field, ValidationError, create_model

from scirgen.core.config import LimitsConfig, ModelsConfig
from scirgen.core.errors import ModelAccessError, ModelError, ReplyRefusedError, ServerUnavailableError
from scirgen.core.prompts import RenderedPrompt
from scirgen.llm.base import Capabilities, ChatReply, ChatRequest, ModelIdentity, Usage
from scirgen.llm.server.openai_client import OpenAIServer
from scirgen.llm.server.openai_compat import OPTIONS, OpenAIChat
from scirgen.llm.session import ChatSession
from scirgen.llm.uri import ModelURI

MOST_QUESTIONS: Final = 400
"""The largest number of questions in a request, by the client's documentation."""

_READ: Final = ("api_key_env", "api_key_file", "extra_headers", "extra_query")
Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Probabilities = dict[str, float]


class DecisionChat(OpenAIChat):
    """A decision model on one or more servers (``decision:NAME[@URL]``). It decides and writes nothing; see
    `decide`."""

    OPTIONS: ClassVar[Mapping[str, str]] = {name: OPTIONS[name] for name in _READ}
    REASONS: ClassVar[bool] = False

    def __init__(self, uri: ModelURI, models: ModelsConfig, limits: LimitsConfig) -> None:
        super().__init__(ModelURI("openai", uri.name, uri.urls), models, limits)
        self._where = str(uri)

    @property
    def identity(self) -> ModelIdentity:
        """The server's name for the model."""
        return ModelIdentity("decision", self.uri.name)

    @property
    def capabilities(self) -> Capabilities:
        """Decisions alone."""
        return Capabilities(decides=True)

    async def _chat_in_some_form(self, server: OpenAIServer, request: ChatRequest) -> ChatReply:
        asked = (request.schema or {}).get("properties")
        if not isinstance(asked, dict):
            raise ModelAccessError(
                f"{self._where} answers typed questions and writes no text", hint="Use it as a judge."
            )
        questions = [_question(name, of) for name, of in asked.items()]
        body = {"model": self.uri.name, "input": request.messages[-1].content, "questions": questions}
        answer = await server.post("/decisions", body)
        try:
            found = _Decision.model_validate(answer)
        except ValidationError as error:
            raise self._misread(f"has another form: {error.errors()[0]['msg']}") from None
        if len(found.answers) != len(questions):
            raise self._misread(f"answers {len(found.answers)} of {len(questions)} questions")
        said = {q["name"]: self._read(q, given) for q, given in zip(questions, found.answers, strict=True)}
        return ChatReply(json.dumps(said), "stop", Usage(found.usage.input_tokens, found.usage.output_tokens))

    def _read(self, question: dict[str, Any], given: _Predicate | _Choice | _Refusal) -> Probabilities | None:
        options = {choice["value"] for choice in question.get("choices", ())}
        if given.type == "refusal":
            return None
        if given.type == "predicate" and not options:
            return {"yes": given.probability, "no": 1 - given.probability}
        if given.type == "choice" and options and {p.value for p in given.probabilities} == options:
            return {p.value: p.probability for p in given.probabilities}
        raise self._misread(f"answers with a {given.type}, which the question does not ask for")

    def _misread(self, why: str) -> ServerUnavailableError:
        return ServerUnavailableError(
            f"{self._where}: the server's answer {why}", hint="Run again to retry it.", code="unreadable_answer"
        )


def _question(name: str, of: dict[str, Any]) -> dict[str, Any]:
    """A question as a server takes it."""
    asked: dict[str, Any] = {"type": "predicate", "name": name, "instructions": of["description"]}
    if choices := of.get("choices"):
        asked |= {"type": "choice", "choices": [{"value": choice} for choice in choices]}
    return asked


async def decide(
    model: ChatSession, asked: Sequence[RenderedPrompt], choices: Sequence[str] = ()
) -> list[Probabilities | ModelError]:
    """Ask a decision model: probabilities for each question, in order.

    Args:
        model: the session of a decision model.
        asked: a prompt a question: its system text asks, its user text is the evidence. Questions about one evidence
            share a request.
        choices: the options of each question; none: it is a statement, with the options "yes" and "no".

    Returns:
        The options' probabilities, or the error that took their place: `ReplyRefusedError` of a refused question.
    """
    found: dict[int, Probabilities | ModelError] = {}
    about: dict[str, list[int]] = {}
    for i, prompt in enumerate(asked):
        about.setdefault(prompt.messages[-1][1], []).append(i)
    for same in about.values():
        for at in range(0, len(same), MOST_QUESTIONS):
            found |= await _decided(model, {i: asked[i] for i in same[at : at + MOST_QUESTIONS]}, choices)
    return [found[i] for i in range(len(asked))]


async def _decided(
    model: ChatSession, asked: dict[int, RenderedPrompt], choices: Sequence[str]
) -> dict[int, Probabilities | ModelError]:
    one = next(iter(asked.values()))
    extra: Any = {"choices": list(choices)} if choices else {}
    fields: dict[str, Any] = {
        f"q{i}": (Probabilities | None, Field(description=prompt.messages[0][1], json_schema_extra=extra))
        for i, prompt in asked.items()
    }
    try:
        evidence = replace(one, messages=one.messages[-1:])
        reply = (await model.ask(evidence, create_model("Decisions", **fields), seed=0)).value
    except ModelError as error:
        if error.fatal:
            raise
        return dict.fromkeys(asked, error)
    declined = ReplyRefusedError(f"{model.identity}: the model declined the question", hint="Reword it.")
    return {i: getattr(reply, f"q{i}") or declined for i in asked}


class _Predicate(BaseModel):
    type: Literal["predicate"]
    probability: Probability


class _Share(BaseModel):
    value: str
    probability: Probability


class _Choice(BaseModel):
    type: Literal["choice"]
    probabilities: list[_Share]


class _Refusal(BaseModel):
    type: Literal["refusal"]


class _Tokens(BaseModel):
    input_tokens: int | None = None
    output_tokens: int | None = None


class _Decision(BaseModel):
    """The fields that are read from a server's answer; others are ignored."""

    answers: list[Annotated[_Predicate | _Choice | _Refusal, Field(discriminator="type")]]
    usage: _Tokens = _Tokens()
