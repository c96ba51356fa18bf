"""Decision models: a server answers typed questions about one text with a probability each (``POST /decisions``).

The form is that of the openai client since version 3.54: a predicate has a probability, a choice has one for each
option, and any question may be refused by itself. `calibrate` fits thresholds; no accuracy is claimed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, Field, ValidationError

from scirgen.core.config import LimitsConfig, ModelsConfig
from scirgen.core.errors import ModelError, ReplyRefusedError, ServerUnavailableError
from scirgen.llm.server.endpoints import EndpointPool
from scirgen.llm.server.openai_client import open_servers
from scirgen.llm.uri import ModelURI

MOST_QUESTIONS: Final = 400
"""The largest number of questions in a request, by the client's documentation."""

Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


@dataclass(frozen=True)
class Question:
    """A question about the evidence: a statement to find true or not, or an instruction with two or more choices."""

    instructions: str
    choices: tuple[str, ...] = ()

    def body(self, name: str) -> dict[str, Any]:
        """The question as a server takes it."""
        asked: dict[str, Any] = {"type": "predicate", "name": name, "instructions": self.instructions}
        if self.choices:
            asked |= {"type": "choice", "choices": [{"value": choice} for choice in self.choices]}
        return asked


class DecisionModel:
    """A decision model on one or more servers.

    Args:
        uri: ``decision:NAME[@URL]``.
        options: ``models.options``; those that name keys, headers and queries are read.
        limits: time, size and retries of requests.
    """

    def __init__(self, uri: ModelURI, options: Mapping[str, object], limits: LimitsConfig | None = None) -> None:
        self._uri = uri
        self._limits = limits or LimitsConfig()
        at = ModelURI("openai", uri.name, uri.urls)
        read = ("api_key_env", "api_key_file", "extra_headers", "extra_query")
        self._models = ModelsConfig(generator=str(at), options={k: v for k, v in options.items() if k in read})
        self._at = at

    async def ask(self, evidence: str, questions: Sequence[Question]) -> list[dict[str, float] | ModelError]:
        """Probabilities for each question, in order: ``{"yes": p, "no": 1 - p}`` of a statement, or one for each
        choice.

        A refused question gives a `ReplyRefusedError` in its place.

        Raises:
            ModelError: the request failed, or its answer has another form.
        """
        servers = open_servers(self._at, self._models, self._limits)
        pool = EndpointPool(servers, self._limits, str(self._uri))
        found: list[dict[str, float] | ModelError] = []
        try:
            for at in range(0, len(questions), MOST_QUESTIONS):
                asked = questions[at : at + MOST_QUESTIONS]
                body = {
                    "model": self._uri.name, "input": evidence,
                    "questions": [question.body(f"q{number}") for number, question in enumerate(asked)],
                }  # fmt: skip
                answer = await pool.run(lambda server, sent=body: server.post("/decisions", sent))  # type: ignore[misc]
                found += self._read(answer, asked)
        finally:
            for server in servers:
                await server.aclose()
        return found

    def _read(self, answer: object, asked: Sequence[Question]) -> list[dict[str, float] | ModelError]:
        try:
            answers = _Decision.model_validate(answer).answers
        except ValidationError as error:
            raise self._misread(f"has another form: {error.errors()[0]['msg']}") from None
        if len(answers) != len(asked):
            raise self._misread(f"answers {len(answers)} of {len(asked)} questions")
        found: list[dict[str, float] | ModelError] = []
        for question, given in zip(asked, answers, strict=True):
            if given.type == "refusal":
                found.append(ReplyRefusedError(f"{self._uri}: the model declined the question", hint="Reword it."))
            elif given.type == "predicate" and not question.choices:
                found.append({"yes": given.probability, "no": 1 - given.probability})
            elif given.type == "choice" and {p.value for p in given.probabilities} == set(question.choices):
                found.append({p.value: p.probability for p in given.probabilities})
            else:
                raise self._misread(f"answers with a {given.type}, which the question does not ask for")
        return found

    def _misread(self, why: str) -> ServerUnavailableError:
        return ServerUnavailableError(
            f"{self._uri}: the server's answer {why}", hint="Run again to retry it.", code="unreadable_answer"
        )


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


class _Decision(BaseModel):
    """The fields that are read from a server's answer; others are ignored."""

    answers: list[Annotated[_Predicate | _Choice | _Refusal, Field(discriminator="type")]]
