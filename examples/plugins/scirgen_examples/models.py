"""Models: a backend is made from a URI (``echo:any``), started once, and then asked. Deriving from `Backend` saves the
rest."""

from collections.abc import Sequence

from scirgen import Backend, Capabilities, ChatReply, ChatRequest, ModelIdentity, ScoreReply, ScoreRequest, Usage


class EchoChat(Backend):
    """Answers with the last line of what it is asked."""

    capabilities = Capabilities(context_tokens=8192)

    @property
    def identity(self) -> ModelIdentity:
        return ModelIdentity("echo", self.uri.name, "1")

    async def chat(self, request: ChatRequest) -> ChatReply:
        text = request.messages[-1].content.strip().splitlines()[-1]
        return ChatReply(text, usage=Usage(sum(len(m.content) for m in request.messages) // 4, len(text) // 4))


class LetterScoring(Backend):
    """The more letters of the continuation occur in the prompt, the likelier it is. One token: the whole
    continuation."""

    capabilities = Capabilities(logprobs=True)

    @property
    def identity(self) -> ModelIdentity:
        return ModelIdentity("letters", self.uri.name, "1")

    async def score(self, requests: Sequence[ScoreRequest]) -> list[ScoreReply | Exception]:
        return [self._one(r) for r in requests]

    def _one(self, request: ScoreRequest) -> ScoreReply:
        prompt = request.prompt if isinstance(request.prompt, str) else " ".join(m.content for m in request.prompt)
        missing = len(set(request.continuation) - set(prompt))
        return ScoreReply((request.continuation,), (-0.1 - missing,), prompt_tokens=len(prompt) // 4)
