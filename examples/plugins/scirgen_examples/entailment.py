"""An entailment model, for the scorers that ask one (``filter.entailment: equal:texts``)."""

from collections.abc import Mapping, Sequence

from scirgen import Entailment, ModelError, ModelURI


class EqualTexts:
    """One text entails another when it holds it word for word."""

    counts_words = True

    def __init__(self, uri: ModelURI, options: Mapping[str, object]) -> None:
        self.identity = str(uri)

    async def entail(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment | ModelError]:
        held = [hypothesis.lower() in premise.lower() for premise, hypothesis in pairs]
        return [Entailment(0.9, 0.1) if h else Entailment(0.1, 0.9) for h in held]
