from __future__ import annotations

import http.server
import json
import shutil
import threading

import httpx2
import pytest
from click.testing import CliRunner

from scirgen.cli.main import cli
from scirgen.core.errors import InputError, SourceError
from scirgen.core.registry import load_registry
from scirgen.release_files.publishing import Publishing, lines_of
from scirgen.release_files.release import Release
from scirgen.testing.server import FakeServer
from scirgen_services.push import plan_upload, push
from tests.support.content_factory import small_run
from tests.support.release_writing import write
from tests.support.small_runs import run_small, write_records


@pytest.fixture
def release(tmp_path):
    return write(small_run(), tmp_path / "release", load_registry(), formats=("trec",))


def test_a_dry_run_lists_every_file_and_contacts_nobody(release, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    result = CliRunner().invoke(cli, ["push", str(release.folder), "me/snow", "--dry-run"])
    assert result.exit_code == 0, result.output
    files = result.output.partition("visibility")[0].splitlines()
    listed = {line.split()[-1] for line in files}
    assert listed == {f.path for f in release.info.files} | {"release.json"}
    assert "nothing was sent" in result.output


@pytest.mark.parametrize(("more", "says"), [((), "visibility  private"), (("--public",), "visibility  public: anyone")])
def test_a_dry_run_names_visibility_and_every_licence(release, more, says):
    output = CliRunner().invoke(cli, ["push", str(release.folder), "me/snow", "--dry-run", *more]).output
    assert says in output and release.info.licences
    assert all(line in output.splitlines() for line in Publishing(lines_of(release)).as_text())


@pytest.mark.parametrize("repo", ["snow", "me/snow/questions", "me/", "/snow", "../me/snow"])
def test_a_name_that_is_no_repository_is_refused_also_in_a_dry_run(release, repo):
    result = CliRunner().invoke(cli, ["push", str(release.folder), repo, "--dry-run"])
    assert isinstance(result.exception, InputError) and "OWNER/NAME" in result.exception.hint


def test_a_release_that_was_changed_or_added_to_is_not_sent(release):
    (release.folder / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"notes\.txt"):
        plan_upload(release)
    (release.folder / "notes.txt").unlink()
    with (release.folder / "train.jsonl").open("a") as out:
        out.write("{}\n")
    with pytest.raises(InputError, match=r"changed.*train\.jsonl"):
        plan_upload(release)


async def test_an_older_release_of_a_run_that_was_stopped_is_not_sent(tmp_path):
    async with FakeServer() as server:
        run = await run_small(server, write_records(tmp_path / "records.jsonl", 2), tmp_path / "run")
        assert plan_upload(Release(run.folder))
        await run_small(server, write_records(tmp_path / "records.jsonl", 4), tmp_path / "run", limits__max_tokens=1)
    with pytest.raises(InputError, match="earlier state") as raised:
        plan_upload(Release(run.folder))
    assert "copy that folder elsewhere" in raised.value.hint
    shutil.copytree(run.folder / "release", tmp_path / "copy")
    assert plan_upload(Release(tmp_path / "copy"))


async def test_a_finished_release_without_questions_is_sent(tmp_path):
    async with FakeServer() as server:
        run = await run_small(server, write_records(tmp_path / "r.jsonl", 2), tmp_path / "run", generate__off=True)
    assert not any(run.released().values()) and plan_upload(Release(run.folder))


class Refusing(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.dumps({"error": "Invalid username or password."}).encode()
        self.send_response(401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def test_a_refusal_by_the_hub_is_one_error_with_a_hint(release, monkeypatch):
    server = http.server.HTTPServer(("127.0.0.1", 0), Refusing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    import huggingface_hub

    made = huggingface_hub.HfApi(endpoint=f"http://127.0.0.1:{server.server_port}", token="hf_x")
    monkeypatch.setattr(huggingface_hub, "HfApi", lambda: made)
    try:
        with pytest.raises(SourceError, match="did not accept") as caught:
            push(release, "me/snow", plan_upload(release), private=True)
        assert "log in" in caught.value.hint
        assert "hf_x" not in str(caught.value)
    finally:
        server.shutdown()
        server.server_close()


def test_a_hub_that_cannot_be_reached_is_one_error(release, monkeypatch):
    def unreachable(*_, **__):
        raise httpx2.ConnectError("Name or service not known")

    monkeypatch.setattr("huggingface_hub.HfApi.create_repo", unreachable)
    with pytest.raises(SourceError, match="Name or service not known"):
        push(release, "me/snow", plan_upload(release), private=True)
