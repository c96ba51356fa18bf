from __future__ import annotations

from content_factory import small_run

from scirgen.core.config import Config
from scirgen.core.fingerprint import file_sha256
from scirgen.core.records import ReleaseFile
from scirgen.core.registry import Registry
from scirgen.core.release import Release
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.stages.base import StageContext
from scirgen.stages.release.stage import ReleaseStage


async def test_the_stage_puts_out_every_file_with_path_hash_and_size(tmp_path):
    resources = Resources()
    ctx = StageContext(Config(), resources, None, Taxonomies(resources), Registry(), tmp_path, run=small_run())
    stage = ReleaseStage()
    (item,) = stage.items(None, ctx)
    result = await stage.process(item, ctx.at("release", item.key, "fp"))
    on_disk = {p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file()}
    assert {f.path for f in result.outputs} == on_disk
    for file in result.outputs:
        assert isinstance(file, ReleaseFile)
        assert file_sha256(tmp_path / file.path) == file.sha256
        assert (tmp_path / file.path).stat().st_size == file.bytes
    assert Release(tmp_path).info.domain == "geo"
