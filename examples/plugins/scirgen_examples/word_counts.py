"""A step of its own: the most frequent words of each dataset, as records that scirgen stores, resumes and inspects."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import click

from scirgen import Config, Dataset, Record, Run, Scope, Section, Stage, StageContext, StageResult, Step, Uses, WorkItem


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


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
def words(run: Path) -> None:
    """Print the most frequent words of each dataset of RUN."""
    for counts in Run(run).records("word_counts", WordCounts):
        click.echo(f"{counts.dataset_id}: {', '.join(word for word, _ in counts.words)}")
