"""`scirgen label serve`: serves the labelling page to a few people who share a machine or a tunnel, with one token per
person.

Listens on 127.0.0.1 only. Labels go into one SQLite file, ``L/labels.db``; `scirgen label merge L/` takes them from
there.
"""

from __future__ import annotations

import secrets
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from scirgen.core.errors import InputError, StoreError, require
from scirgen.core.files.jsonl import first_problem
from scirgen.core.safety.files import private_file
from scirgen.release_files.labels import ADJUDICATOR, Label, LabelSet
from scirgen_label.merge import check
from scirgen_label.pages import page, pictures_of

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

DATABASE = "labels.db"
_LARGEST = 200_000
"""Largest size of one label in bytes; a reason and two corrected texts need far less."""


class Desk:
    """The labels that a server collects: one row per person and item; the last one counts."""

    def __init__(self, labels: LabelSet) -> None:
        """Open or make the database of a folder.

        Raises:
            StoreError: it cannot be opened or written.
        """
        self.labels = labels
        self._lock = threading.Lock()
        path = labels.folder / DATABASE
        try:
            for made in (path, *(path.with_name(f"{DATABASE}{end}") for end in ("-wal", "-shm"))):
                if made.is_symlink():
                    raise StoreError(f"{made} is a link, and links are not followed", hint="Remove it.")
            private_file(path)
            self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            self._db.execute("CREATE TABLE IF NOT EXISTS people (annotator TEXT PRIMARY KEY, token TEXT NOT NULL)")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS labels (annotator TEXT, item TEXT, line TEXT NOT NULL, PRIMARY KEY "
                "(annotator, item))"
            )
            for annotator in (*labels.sample.annotators, ADJUDICATOR):
                self._db.execute("INSERT OR IGNORE INTO people VALUES (?, ?)", (annotator, secrets.token_urlsafe(24)))
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"{path}: {error}", hint="Check the folder's permissions, or remove the file.") from error

    def tokens(self) -> dict[str, str]:
        """Annotator -> token; the same each time the folder is served."""
        return dict(self._db.execute("SELECT annotator, token FROM people ORDER BY annotator"))

    def annotator(self, token: str) -> str | None:
        """The annotator with this token, compared in constant time."""
        found = None
        for annotator, own in self.tokens().items():
            if secrets.compare_digest(token.encode(), own.encode()):
                found = annotator
        return found

    def lines(self, annotator: str) -> list[str]:
        """All labels and drafts of a person."""
        with self._lock:
            rows = self._db.execute("SELECT line FROM labels WHERE annotator=? ORDER BY item", (annotator,)).fetchall()
        return [row[0] for row in rows]

    def save(self, annotator: str, text: bytes) -> None:
        """Store one label or draft.

        Raises:
            InputError: it is not a label, belongs to another person, or is not part of the sample.
        """
        try:
            label = Label.model_validate_json(text)
        except ValidationError as error:
            raise InputError(f"not a label: {first_problem(error)}") from error
        if label.annotator != annotator:
            raise InputError(f"a label of {label.annotator}, sent by {annotator}")
        check(self.labels, [("sent", label)])
        with self._lock:
            self._db.execute(
                "INSERT OR REPLACE INTO labels VALUES (?, ?, ?)", (annotator, label.item, label.model_dump_json())
            )

    def close(self) -> None:
        """Close the database."""
        self._db.close()


def collected(labels: LabelSet) -> Iterator[tuple[str, str]]:
    """Yield the labels that a server collected as JSON, with their places.

    Raises:
        InputError: nothing was collected.
    """
    path = labels.folder / DATABASE
    if not path.is_file():
        raise InputError(
            f"{labels.folder} has no {DATABASE}",
            hint="Name the files of labels: scirgen label merge L/ A.jsonl B.jsonl",
        )
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as db:
        for annotator, item, line in db.execute("SELECT annotator, item, line FROM labels ORDER BY annotator, item"):
            yield f"{path}, {annotator} {item}", line


def app(desk: Desk) -> Starlette:
    """The application: ``/label/TOKEN`` is a person's page, ``/labels/TOKEN`` takes and gives their labels.

    Raises:
        MissingExtraError: Starlette is not installed.
    """
    with require("labels", "serving labels"):
        from starlette.applications import Starlette
        from starlette.middleware import Middleware
        from starlette.middleware.trustedhost import TrustedHostMiddleware
        from starlette.responses import HTMLResponse, PlainTextResponse
        from starlette.routing import Route
    pictures = pictures_of(desk.labels)
    guarded = {"Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

    def refused() -> Response:
        return PlainTextResponse("unknown address\n", 404, guarded)

    async def show(request: Request) -> Response:
        token = request.path_params["token"]
        annotator = desk.annotator(token)
        if annotator is None:
            return refused()
        labels = LabelSet(desk.labels.folder)
        items = (
            [i for i in labels.items if labels.settled(i.id).how == "open"]
            if annotator == ADJUDICATOR
            else labels.items
        )
        text = page(labels, annotator, items, pictures, server=f"/labels/{token}")
        return HTMLResponse(text, headers=guarded)

    async def give(request: Request) -> Response:
        annotator = desk.annotator(request.path_params["token"])
        if annotator is None:
            return refused()
        return PlainTextResponse("".join(line + "\n" for line in desk.lines(annotator)), headers=guarded)

    async def take(request: Request) -> Response:
        annotator = desk.annotator(request.path_params["token"])
        if annotator is None:
            return refused()
        # A page from another site can send a form, but not this content type without a preflight request.
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            return PlainTextResponse("expected application/json\n", 415, guarded)
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > _LARGEST:
                return PlainTextResponse("too large\n", 413, guarded)
        try:
            desk.save(annotator, bytes(body))
        except InputError as error:
            return PlainTextResponse(f"{error.message}\n", 422, guarded)
        return PlainTextResponse("saved\n", headers=guarded)

    routes = [
        Route("/label/{token}", show), Route("/labels/{token}", give, methods=["GET"]),
        Route("/labels/{token}", take, methods=["POST"]),
    ]  # fmt: skip
    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])
    return Starlette(routes=routes, middleware=[hosts])


def addresses(desk: Desk, port: int) -> dict[str, str]:
    """Annotator -> address."""
    return {a: f"http://127.0.0.1:{port}/label/{token}" for a, token in desk.tokens().items()}


def serve(folder: Path, port: int) -> None:
    """Serve until interrupted.

    Raises:
        MissingExtraError: Starlette or uvicorn is not installed.
        StoreError: the database cannot be opened.
    """
    desk = Desk(LabelSet(folder))
    try:
        made = app(desk)
        with require("labels", "serving labels"):
            import uvicorn
        uvicorn.run(made, host="127.0.0.1", port=port, log_level="warning", access_log=False)
    finally:
        desk.close()
