"""Publishes a release on the Hugging Face Hub. The files can also be listed without contacting the Hub."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx2

from scirgen import InputError, Record, Release, Run, SourceError
from scirgen.core.safety.files import is_below
from scirgen.core.text.shown import shown
from scirgen.plugin import file_sha256, require
from scirgen.release_files.publishing import FILE, Publishing, lines_of

_REPO = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")


@dataclass(frozen=True)
class Upload:
    """One file to send: its path in the repository, its size in bytes, its SHA-256."""

    path: str
    bytes: int
    sha256: str


def check_repo(repo: str) -> str:
    """Return the repository's name, if it is valid.

    Raises:
        InputError: it does not have the form OWNER/NAME.
    """
    if not _REPO.fullmatch(repo):
        raise InputError(
            f"{repo!r} is not a dataset repository", hint="Write OWNER/NAME, e.g. my-group/snow-questions."
        )
    return repo


def plan_upload(release: Release) -> list[Upload]:
    """Return all files of a release, each checked against the hash in release.json.

    Raises:
        InputError: a file is missing, was changed after the release was written, or is not listed; or the run was
            started again since and has not finished.
    """
    run = release.folder.parent
    own = release.folder.name == "release" and (run / "run.db").is_file()
    if own and not any(Run(run).records("release", Record)):
        raise InputError(
            f"{release.folder} is of an earlier state of the run, which did not finish since",
            hint="Run the same scirgen generate again, or copy that folder elsewhere to publish the earlier state.",
        )
    uploads: list[Upload] = []
    known = {f.path for f in release.info.files} | {"release.json"}
    present = {p.relative_to(release.folder).as_posix() for p in release.folder.rglob("*") if p.is_file()}
    if present - known:
        raise InputError(
            f"{release.folder} contains files that are not part of the release: {shown(sorted(present - known))}",
            hint="Move them away; only files that release.json lists are published.",
        )
    for path in sorted(known):
        file = release.folder / path
        if not is_below(file, release.folder):
            raise InputError(f"{path!r} is not inside the release", hint="Only files of the release are published.")
        if not file.is_file():
            raise InputError(f"{file} is missing", hint="Write the release again.")
        uploads.append(Upload(path, file.stat().st_size, file_sha256(file)))
    listed = {f.path: f.sha256 for f in release.info.files}
    changed = [u.path for u in uploads if u.path in listed and listed[u.path] != u.sha256]
    if changed:
        raise InputError(
            f"{release.folder} was changed after it was written: {shown(changed)}",
            hint="Write the release again to update its hashes.",
        )
    return uploads


def terms(release: Release, repo: str, *, public: bool) -> list[str]:
    """Return the visibility of the repository, and the table of what may be published, as lines of text."""
    who = "anyone can read it" if public else "only its owners can read it; --public opens it"
    lines = [f"visibility  {'public' if public else 'private'}: {who} ({repo} keeps its own, if it exists)"]
    return [*lines, *Publishing(lines_of(release)).as_text(), f"row by row: {FILE}"]


def push(release: Release, repo: str, uploads: Sequence[Upload], *, private: bool) -> str:
    """Create the dataset repository if needed and send the files in one commit.

    `hf auth login` or ``HF_TOKEN`` provides the token; scirgen neither reads nor stores it.

    Returns:
        The commit's URL.

    Raises:
        MissingExtraError: huggingface_hub is not installed.
        SourceError: the Hub refused or could not be reached.
    """
    with require("release", "pushing to the Hub"):
        from huggingface_hub import CommitOperationAdd, HfApi
        from huggingface_hub.errors import HfHubHTTPError, LocalTokenNotFoundError
    api = HfApi()
    try:
        api.create_repo(repo, repo_type="dataset", private=private, exist_ok=True)
        operations = [CommitOperationAdd(u.path, str(Path(release.folder) / u.path)) for u in uploads]
        commit = api.create_commit(repo, operations, repo_type="dataset", commit_message="Release made with scirgen")
    except (HfHubHTTPError, LocalTokenNotFoundError, httpx2.HTTPError, OSError, ValueError) as error:
        raise SourceError(
            f"the Hub did not accept the release: {error}",
            hint="Check the connection and the repository's name, and log in: hf auth login",
        ) from error
    return str(commit.commit_url)
