"""A step of its own: the most frequent words of each dataset, as records that scirgen stores, resumes and inspects, and
as a field of each released row."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import click
from pydantic import Field

from scirgen import (
    Config,
    Dataset,
    Record,
    RowFields,
    Run,
    RunView,
    Scope,
    Section,
    Stage,
    StageContext,
    StageResult,
    Step,
    Uses,
    WorkItem,
)  # fmt: skip


class WordCountConfig(Section):
    """Section ``word_counts``: with it in the settings, the step runs."""

    most: int = 5


class WordCounts(Record):
    """The most frequent words of one dataset's record."""

    id: str
    dataset_id: str
    words: tuple[tuple[str, int], ...]


class WordCountStage(Stage):
    """Counts words; asks no model."""

    name = "word_counts"

    def uses(self, config: Config) -> Uses:
        """The section: another value of ``most`` redoes the step and nothing before it."""
        return Uses(config=("word_counts",))

    def items(self, scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        """One item for each dataset."""
        yield WorkItem(scope.dataset.id, (scope.dataset,))

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        """The dataset's counts."""
        dataset = item.one(Dataset)
        found = Counter(dataset.text.lower().split())
        most = ctx.config.part("word_counts", WordCountConfig).most
        counts = WordCounts(id=f"words-{dataset.id}", dataset_id=dataset.id, words=tuple(found.most_common(most)))
        return StageResult((counts,))


STEP = Step("word_counts", "dataset metadata", "WordCounts", "a dataset", after="verify")


class RowWords(Record):
    """The added field, with its default and description."""

    frequent_words: tuple[str, ...] = Field(default=(), description="frequent words of the dataset's record")


class FrequentWords(RowFields):
    """Adds the field; the card, Croissant and the exports have it, too."""

    name = "word_counts"
    fields = RowWords

    def values(self, run: RunView, ctx: StageContext) -> Mapping[str, Record]:
        """The fields of each pair by its id."""
        words = {c.dataset_id: tuple(w for w, _ in c.words) for c in run.records("word_counts", WordCounts)}
        return {pair.id: RowWords(frequent_words=words.get(pair.dataset_id, ())) for pair in run.pairs()}


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
def words(run: Path) -> None:
    """Print the most frequent words of each dataset of RUN."""
    for counts in Run(run).records("word_counts", WordCounts):
        click.echo(f"{counts.dataset_id}: {', '.join(word for word, _ in counts.words)}")
