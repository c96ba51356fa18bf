"""A source: a catalogue of datasets. `FolderSource` reads the files; only what a record means is ours."""

from collections.abc import Mapping
from pathlib import Path

from scirgen import Dataset, FolderSource, Rejection


class StationSource(FolderSource):
    """Rows of ``stations.csv``: number, place, height, first_year."""

    name = "stations"

    @classmethod
    def claims(cls, path: Path) -> bool:
        """Return whether this source reads the input, so that ``--domain stations`` needs no ``--source``."""
        return (path / "stations.csv").is_file()

    def dataset(self, record: Mapping[str, object], where: str) -> Dataset | Rejection:
        place = record.get("place")  # a record has no keys for empty cells
        if not place:
            return Rejection.of("collect", "no_title", f"{where}: no place", ("Dataset", where))
        text = f"Air temperature at {place} was measured every 10 minutes since {record['first_year']}."
        return Dataset(
            id=f"station-{record['number']}",
            title=f"Air temperature at {place}",
            description=text,
            fields=(("Height above sea level", f"{record['height']} m"),),
            licence="cc0-1.0",
        )
