"""Shared by the tests of the model layer: prompts without files, settings for a server on loopback."""

from __future__ import annotations

from scirgen.core.config import Config, LimitsConfig, ModelsConfig
from scirgen.core.prompts import PromptLibrary, RenderedPrompt, SamplingDefaults
from scirgen.core.resources import Resources
from scirgen.llm.base import Capabilities, ChatReply, ChatRequest, ModelIdentity, Usage
from scirgen.llm.uri import ModelURI
from scirgen_estimate.trial import FakeScores

LIBRARY = PromptLibrary(Resources())


def prompt(text: str, **sampling: object) -> RenderedPrompt:
    """A prompt of one user message."""
    defaults = SamplingDefaults.model_validate(sampling)
    return RenderedPrompt("test/prompt", 1, "hash", "json", defaults, (("user", text),))


def config_for(url: str, **limits: object) -> Config:
    """Settings that use a fake server."""
    return Config(
        models=ModelsConfig(generator=f"openai:fake@{url}"),
        limits=LimitsConfig.model_validate({"retries": 4, "timeout_s": 5.0, **limits}),
    )


class Scripted:
    """A chat backend that gives scripted replies, in order; an exception in the script is raised."""

    def __init__(self, *script: str | ChatReply | Exception, forever: bool = False) -> None:
        self.script = list(script)
        self.forever = forever
        self.requests: list[ChatRequest] = []
        self.identity = ModelIdentity("scripted", "script")
        self.capabilities = Capabilities(structured=True)

    async def chat(self, request: ChatRequest) -> ChatReply:
        self.requests.append(request)
        said = self.script[0] if self.forever else self.script.pop(0)
        if isinstance(said, Exception):
            raise said
        return said if isinstance(said, ChatReply) else ChatReply(said, usage=Usage(10, 5))

    async def aclose(self) -> None:
        pass


class EmbeddedScores(FakeScores):
    """Stands for the bundled model."""

    def __init__(self, uri: ModelURI, models: ModelsConfig, limits: LimitsConfig) -> None:
        super().__init__(ModelIdentity("bundled", uri.name), Capabilities(logprobs=True), "scorer", [])
