"""Which addresses may be talked to: the guard against server-side request forgery, checked where the socket is opened.

The check is on the address that is really connected to, so neither a redirect nor a name that resolves again gets past it.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from typing import Any

import httpcore2
import httpx2

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


class BlockedAddressError(Exception):
    """The host resolves to an address that must not be talked to."""


def is_public(address: str) -> bool:
    """Whether an IP address is on the public internet: not private, loopback, link-local, reserved, multicast..."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if ip.version == 6 and ip in _NAT64:
        ip = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    mapped = getattr(ip, "ipv4_mapped", None) or getattr(ip, "sixtofour", None)
    ip = mapped or ip
    return ip.is_global and not (ip.is_multicast or ip.is_reserved or ip.is_unspecified)


class GuardedBackend(httpcore2.NetworkBackend):
    """Opens sockets to public addresses only; the name is resolved once, and the checked address is what is connected to."""

    def __init__(self, inner: httpcore2.NetworkBackend | None = None) -> None:
        self._inner = inner or httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        """Connect to the first address of a host, if all of its addresses are public.

        Raises:
            BlockedAddressError: one of them is not.
        """
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise httpcore2.ConnectError(f"{host}: {error}") from error
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        if blocked := [a for a in addresses if not is_public(a)]:
            raise BlockedAddressError(f"{host} is {blocked[0]}, which is not a public address")
        return self._inner.connect_tcp(addresses[0], port, timeout, local_address, socket_options)

    def connect_unix_socket(self, path: str, timeout: float | None = None, socket_options: Any = None) -> Any:
        """Refused.

        Raises:
            BlockedAddressError: always.
        """
        raise BlockedAddressError("sockets of this machine are not talked to")

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)


class GuardedTransport(httpx2.HTTPTransport):
    """httpx's transport over a `GuardedBackend`; proxies of the environment are not used, they would resolve names unchecked."""

    def __init__(self) -> None:
        super().__init__()
        self._pool.close()
        self._pool = httpcore2.ConnectionPool(
            ssl_context=httpx2.create_ssl_context(), network_backend=GuardedBackend(), keepalive_expiry=5.0
        )
