"""A match strategy: does a paper use a dataset? Its evidence must be places in the paper."""

from scirgen import Judgement, MatchPair, Place, StageContext


class ById:
    """It does where it says the dataset's id."""

    name = "by-id"
    needs = ()  # ("generator",) for one that asks a model

    async def judge(self, pair: MatchPair, ctx: StageContext) -> Judgement:
        at = pair.document.text.find(pair.dataset.id)
        if at < 0:
            return Judgement(False, "the id does not occur", code="not_named")
        start, end = pair.sentence_at(at, at + len(pair.dataset.id))
        return Judgement(True, "the paper says its id", (Place(start, end, pair.section(start), "id"),))
