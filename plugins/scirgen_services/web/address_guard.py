"""Guards against server-side request forgery: checks addresses when the socket is opened.

It checks the address of the actual connection, so neither a redirect nor a second name resolution can bypass it.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import httpcore2
import httpx2

from scirgen.core.runtime import is_stopping, stopped

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_INSIDE = tuple(
    ipaddress.ip_network(network)
    for network in (
        "fec0::/10",  # site-local, deprecated (RFC 3879) and still routed inside of organisations
        "fd00:ec2::/32",  # metadata of Amazon
        "64:ff9b:1::/48",  # local-use translation (RFC 8215)
        "168.63.129.16/32",  # the host of a virtual machine at Azure
        "100.100.100.200/32",  # metadata of Alibaba
        "192.0.0.0/24",  # Oracle's metadata (192.0.0.192), and IETF protocol assignments
        "::/96",  # IPv4-compatible, deprecated (RFC 4291)
    )
)
_SLICE_S = 0.5


class BlockedAddressError(Exception):
    """The host resolves to an address to which no connection is allowed."""


def is_public(address: str) -> bool:
    """Return whether an IP address is on the public internet: not private, loopback, link-local, reserved,
    multicast..."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if ip.version == 6 and ip in _NAT64:
        ip = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    if getattr(ip, "teredo", None):
        return False
    mapped = getattr(ip, "ipv4_mapped", None) or getattr(ip, "sixtofour", None)
    ip = mapped or ip
    if any(ip in network for network in _INSIDE if network.version == ip.version):
        return False
    return ip.is_global and not (ip.is_multicast or ip.is_reserved or ip.is_unspecified)


_ends = threading.local()


@contextmanager
def ends_in(seconds: float) -> Iterator[None]:
    """End the requests of this thread within the block after this many seconds, even if bytes keep arriving."""
    _ends.at = time.monotonic() + seconds
    try:
        yield
    finally:
        _ends.at = None


class _Timed(httpcore2.NetworkStream):
    """A connection whose reads end at the thread's deadline, or when the run ends."""

    def __init__(self, inner: httpcore2.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        patience = time.monotonic() + (timeout if timeout is not None else 3600.0)
        while True:
            if is_stopping():
                raise stopped()
            end = getattr(_ends, "at", None)
            left = min(patience, end if end is not None else patience) - time.monotonic()
            if left <= 0:
                raise httpcore2.ReadTimeout("no complete reply in time")
            try:
                return self._inner.read(max_bytes, min(left, _SLICE_S))
            except httpcore2.ReadTimeout:
                continue

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, timeout)

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        return _Timed(self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class GuardedBackend(httpcore2.NetworkBackend):
    """Opens sockets to public addresses only.

    It resolves a name once and connects to the checked address. ``everywhere``: private addresses are allowed too.
    """

    def __init__(self, inner: httpcore2.NetworkBackend | None = None, *, everywhere: bool = False) -> None:
        self._inner = inner or httpcore2.SyncBackend()
        self._everywhere = everywhere

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
        if not self._everywhere and (blocked := [a for a in addresses if not is_public(a)]):
            raise BlockedAddressError(f"{host} is {blocked[0]}, which is not a public address")
        return _Timed(self._inner.connect_tcp(addresses[0], port, timeout, local_address, socket_options))

    def connect_unix_socket(self, path: str, timeout: float | None = None, socket_options: Any = None) -> Any:
        """Refuse every socket of this machine.

        Raises:
            BlockedAddressError: always.
        """
        raise BlockedAddressError("connections to sockets of this machine are not allowed")

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)


class GuardedTransport(httpx2.HTTPTransport):
    """httpx's transport over a `GuardedBackend`; it ignores proxies of the environment, since they would resolve names
    unchecked."""

    def __init__(self, *, everywhere: bool = False) -> None:
        super().__init__()
        self._pool.close()
        self._pool = httpcore2.ConnectionPool(
            ssl_context=httpx2.create_ssl_context(),
            network_backend=GuardedBackend(everywhere=everywhere),
            keepalive_expiry=5.0,
        )
