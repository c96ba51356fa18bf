"""Reads the front matter of papers for a source that makes records of them."""

from __future__ import annotations

from pathlib import Path

from scirgen.core.config import ParseConfig
from scirgen.core.registry import Registry
from scirgen.stages.base import FrontMatter
from scirgen.stages.parse.base import LAYOUT_VERSION
from scirgen.stages.parse.frontmatter import FRONT_VERSION, front_matter
from scirgen.stages.parse.process.pool import ParserPool
from scirgen.stages.parse.readers import reader_in_use
from scirgen.stages.parse.stage import code_of_parsers, read_paper


class FrontReader:
    """A `PaperReader` over the run's parsers; ``run`` is the run's folder."""

    def __init__(self, config: ParseConfig, registry: Registry, run: Path) -> None:
        self._config, self._registry, self._run = config, registry, run
        reader, code = reader_in_use(config.reader), code_of_parsers(config, registry)
        self.versions: tuple[int | str, ...] = (LAYOUT_VERSION, FRONT_VERSION, reader, *code)
        self._pool: ParserPool | None = None

    async def read(self, path: Path) -> FrontMatter:
        """Read one file.

        Raises:
            PaperError: it cannot be read.
        """
        self._pool = self._pool or ParserPool(self._config.workers, self._config.memory_mb)
        return front_matter(await read_paper(path, self._config, self._registry, self._pool, self._run))

    def close(self) -> None:
        """End the parser's processes; another file starts new ones."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None
