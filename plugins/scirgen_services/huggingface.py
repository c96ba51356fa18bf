"""Hugging Face Hub: its datasets and the arXiv papers that their tags name.

Documented at https://huggingface.co/docs/hub/api (``/api/datasets``; pages follow the Link header).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from pydantic import Field

from scirgen import Candidate, Cursor, Dataset, InputError, Paper, Rejection, normalise_licence
from scirgen_services.forms.fields import as_dict, as_list, as_text, secret_from_environment
from scirgen_services.web.http import is_json
from scirgen_services.web.json_api import ServiceOptions, WebService

_NEXT = re.compile(r'<([^<>]{1,4000})>\s{0,16};\s{0,16}rel="?next"?')


class HuggingFaceOptions(ServiceOptions):
    """Selects the datasets. The token in ``token_env``, if set, opens gated ones."""

    base_url: str = "https://huggingface.co"
    query: str | None = None
    author: str | None = None
    tag: str | None = Field(default=None, description="such as task_categories:question-answering")
    page_size: int = Field(default=100, ge=1, le=1000)
    token_env: str = "HF_TOKEN"  # noqa: S105 - the name of a variable


class HuggingFaceSource(WebService[HuggingFaceOptions]):
    """Datasets of the Hub, oldest first."""

    name = "huggingface"
    options_type = HuggingFaceOptions

    def headers(self) -> Mapping[str, str]:
        """Return the header with the token, if one is set."""
        token = secret_from_environment(self.options.token_env)
        return {"Authorization": f"Bearer {token}"} if token else {}

    def datasets(self, cursor: str | None = None) -> Iterator[Dataset | Cursor | Rejection]:
        """Yield all datasets that match; the cursor is the address of the next page, which must be on the same host."""
        url, params = f"{self.base}/api/datasets", self._params()
        if cursor:
            url, params = self._own(cursor), {}
        while True:
            reply = self.http.reply(url, params, check=is_json)
            for item in self._items(reply.body):
                yield self._dataset(as_dict(item))
            following = _NEXT.search(reply.link or "")
            if not following:
                return
            url, params = self._own(following.group(1)), {}
            yield Cursor(url)

    def papers(self, dataset: Dataset) -> Iterator[Candidate]:
        """Yield the arXiv papers of the dataset's tags."""
        for entry in dataset.related:
            number = entry.removeprefix("arxiv:")
            doi = f"10.48550/arxiv.{number}".lower()
            paper = Paper(id=doi, doi=doi, url=f"https://arxiv.org/pdf/{number}", media_type="application/pdf")
            yield Candidate(paper, "related_identifier")

    def _params(self) -> dict[str, str | int]:
        options = self.options
        given = {"search": options.query, "author": options.author, "filter": options.tag}
        params: dict[str, str | int] = {k: v for k, v in given.items() if v}
        return {**params, "full": "true", "sort": "createdAt", "direction": 1, "limit": options.page_size}

    def _own(self, url: str) -> str:
        if not url.startswith(self.base + "/"):
            raise InputError(f"{url!r} is not a cursor of this source", hint="Begin a new run.")
        return url

    def _items(self, body: bytes) -> list[object]:
        found = json.loads(body)
        if not isinstance(found, list):
            raise self.problem("a page that is not a list")
        return found

    def _dataset(self, item: Mapping[str, object]) -> Dataset | Rejection:
        identity = as_text(item.get("id"))
        card = as_dict(item.get("cardData"))
        if not identity:
            return Rejection.of("collect", "no_id", "a dataset of the Hub has no id", ("Dataset", "?"))
        tags = [as_text(t) for t in as_list(item.get("tags"))]
        tagged = [t.partition(":") for t in tags]
        licences = [value for key, _, value in tagged if key == "license"]
        languages = [value for key, _, value in tagged if key == "language"]
        return Dataset(
            id=identity,
            title=as_text(card.get("pretty_name")) or identity.rpartition("/")[2].replace("_", " ").replace("-", " "),
            description=as_text(item.get("description")),
            doi=next((value for key, _, value in tagged if key == "doi"), None),
            url=f"{self.base}/datasets/{identity}",
            authors=tuple(filter(None, [as_text(item.get("author"))])),
            keywords=tuple(t for t in tags if ":" not in t),
            fields=tuple(
                (label, text)
                for label, key in (("Tasks", "task_categories"), ("Size", "size_categories"), ("Format", "format"))
                if (text := "; ".join(value for k, _, value in tagged if k == key))
            ),
            related=tuple(t for t in tags if t.startswith("arxiv:")),
            licence=normalise_licence(licences),
            language=(languages[0] if languages else "en")[:2],
        )
