"""The interface of the HTTP client for sources and paper services, the plugin kind ``http_client``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, cast

from scirgen.core.registry import load_registry
from scirgen.stages.collect.source import Fetched, SourceSetup


@dataclass(frozen=True)
class Reply:
    """A service's reply. ``link`` is its Link header, ``at`` the time at which it was last known to be valid (seconds
    since 1970)."""

    url: str
    status: int
    body: bytes
    etag: str | None = None
    modified: str | None = None
    link: str | None = None
    at: float = 0.0


class Http(Protocol):
    """A client with limits, retries and a cache on disk; safe to use from several threads."""

    def json(self, url: str, params: Mapping[str, str | int] | None = None) -> object:
        """Return a JSON reply.

        Raises:
            SourceError: the download failed; the class of the error says whether a retry may help.
        """

    def reply(
        self, url: str, params: Mapping[str, str | int] | None = None, *, check: Callable[[bytes], None] | None = None
    ) -> Reply:
        """Return a reply, from the cache while it is fresh, otherwise from the service (with a conditional request, if
        it was fetched before).

        Args:
            url: http or https.
            params: parameters of the query.
            check: raises ValueError for a body that is cut short or of the wrong form; such a reply is requested again.

        Raises:
            SourceError: unreachable, overloaded or cut short, after the retries (``unreachable``, ``rate_limited``,
                ``http_503``, ``bad_reply``).
            SourceRefusedError: the service refused (``http_404``...), or the address is not allowed
                (``blocked_address``).
        """

    def download(self, url: str) -> Fetched:
        """Return a paper's file, kept under its content hash; nothing is downloaded twice.

        Args:
            url: http or https; a few redirects are followed, each with a new check of the address.

        Returns:
            The file, or a code and the reason why there is none: ``not_found``, ``no_access``, ``not_a_pdf`` (an HTML
            page), ``too_large``, ``timeout``, ``blocked_address``, ``too_many_redirects``.

        Raises:
            SourceError: another try may help (unreachable, 5xx, cut short).
        """

    def close(self) -> None: ...


def open_http(
    setup: SourceSetup,
    *,
    per_second: float = 5.0,
    headers: Mapping[str, str] | None = None,
    secret_params: Mapping[str, str] | None = None,
    service: str = "",
) -> Http:
    """Return the client of a source or paper service, with the run's settings and cache.

    Args:
        setup: the argument with which the source was made.
        per_second: requests per second that the service asks to keep to.
        headers: headers with the service's keys; sent only to the host of ``service``, over https.
        secret_params: keys in the query, under the same conditions.
        service: the service's address; needed for ``headers`` and ``secret_params``.

    Raises:
        PluginError: keys are given without the service that they belong to, or no plugin provides a client.
    """
    opener = cast(Callable[..., Http], load_registry().get("http_client", "default"))
    return opener(setup, per_second=per_second, headers=headers, secret_params=secret_params, service=service)
