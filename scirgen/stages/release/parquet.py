"""Parquet: one file for each table and split, for Hugging Face datasets, DuckDB, pandas and Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel

from scirgen.release_files.release import SETTINGS, SPLITS, Release, row_model
from scirgen.stages.release.describe.features import TABLES, features

_ROWS = 4096


class ParquetFormat:
    """``train|dev|test.parquet`` and one file for each corpus table; the columns are those of the JSONL files."""

    def write(self, release: Release, folder: Path) -> None:
        """Write in batches; a split without rows becomes a file without rows."""
        folder.mkdir(parents=True)
        for name, model, rows in _tables(release):
            schema = pa.schema([pa.field(c["name"], _arrow_type(c)) for c in features(model)])
            with pq.ParquetWriter(folder / f"{name}.parquet", schema, compression="zstd") as writer:
                while batch := [row.model_dump(mode="json") for row in islice(rows, _ROWS)]:
                    writer.write_table(pa.Table.from_pylist(batch, schema=schema))


def _tables(release: Release) -> Iterator[tuple[str, type[BaseModel], Iterator[BaseModel]]]:
    for split in SPLITS:
        yield split, row_model(release.info.row_fields), release.rows(split)
    for setting in SETTINGS:
        yield f"corpus-{setting}", TABLES[f"corpus-{setting}"][0], release.corpus(setting)
    yield "passages", TABLES["passages"][0], release.passages()
    yield "papers", TABLES["papers"][0], release.papers()
    yield "aspects", TABLES["aspects"][0], release.aspects()


def _arrow_type(column: Mapping[str, Any]) -> Any:
    inner = column.get("list")
    if inner is None:
        return {"string": pa.string(), "int64": pa.int64(), "float64": pa.float64(), "bool": pa.bool_()}[
            column["dtype"]
        ]
    if isinstance(inner, str):
        return pa.list_(_arrow_type({"dtype": inner}))
    return pa.list_(pa.struct([pa.field(c["name"], _arrow_type(c)) for c in inner]))
