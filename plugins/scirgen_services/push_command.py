"""``scirgen push``: publish a release on the Hugging Face Hub."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from scirgen.plugin import echo_json


@click.command()
@click.argument("release", type=click.Path(path_type=Path))
@click.argument("repo")
@click.option("--public", is_flag=True, help="Make a new repository public.  [default: private]")
@click.option("--dry-run", is_flag=True, help="Check and list what would be sent, without contacting the Hub.")
@click.option("--json", "as_json", is_flag=True, help="With --dry-run: machine-readable.")
def push(release: Path, repo: str, public: bool, dry_run: bool, as_json: bool) -> None:
    """Send RELEASE (a release, or a run's folder) to the dataset repository REPO (OWNER/NAME)."""
    from scirgen import Release
    from scirgen.release_files.publishing import Publishing, lines_of
    from scirgen_services.push import check_repo, plan_upload, terms
    from scirgen_services.push import push as send

    check_repo(repo)
    opened = Release(release)
    uploads = plan_upload(opened)
    total = sum(u.bytes for u in uploads)
    if dry_run and as_json:
        planned = {
            "repo": repo,
            "public": public,
            "licences": [row._asdict() for row in Publishing(lines_of(opened)).rows],
            "files": list(map(asdict, uploads)),
        }
        echo_json(planned)
        return
    if dry_run:
        for upload in uploads:
            click.echo(f"{upload.sha256[:12]}  {upload.bytes:>12,}  {upload.path}")
        for line in terms(opened, repo, public=public):
            click.echo(line)
        click.echo(f"would send {len(uploads)} files, {total / 1e6:.1f} MB, to {repo} (nothing was sent)")
        return
    url = send(opened, repo, uploads, private=not public)
    click.echo(f"sent {len(uploads)} files, {total / 1e6:.1f} MB: {url}")
