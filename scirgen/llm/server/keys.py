"""Keys of model servers: a key belongs to its host, and goes to another one only if the settings name it for that
address."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from scirgen.core.config import ModelsConfig
from scirgen.core.errors import ConfigError, ModelAccessError
from scirgen.core.files.named import ordinary
from scirgen.core.secrets import as_secret, may_have_keys, origin, secret_from_environment
from scirgen.llm.services import service_at, services
from scirgen.llm.uri import ModelURI

HOSTED: Final = services()["openai"].url
"""Address for `openai:NAME` without an address, unless OPENAI_BASE_URL is set."""

_AZURE_HOSTS: Final = (".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com")
_LONGEST_FILE: Final = 65_536


def key_for(uri: ModelURI, url: str, models: ModelsConfig, *, azure: bool) -> str:
    """Return the key that requests to a server carry; "" for none.

    ``models.options.api_key_env`` or ``api_key_file`` names it, for all addresses or by address. Otherwise it is the
    key of the server's own service.

    Raises:
        ModelAccessError: a named key is empty, or the service of that host needs one.
        ConfigError: a named key would go to several hosts, or over http to another machine.
    """
    named = at_address(models.options, "api_key_env", url, models)
    file = at_address(models.options, "api_key_file", url, models)
    if named and file:
        raise ConfigError(
            f"models.options: both api_key_env and api_key_file name a key for {url}", hint="Remove one of them."
        )
    if named or file:
        refuse_http(url, f"{uri}: the key that models.options names")
        return key_from_file(uri, str(file)) if file else _from_environment(uri, str(named))
    if azure:
        return _own_key(uri, url, "AZURE_OPENAI_API_KEY", needed=True) if _is_azures(url) else ""
    if (chosen := os.environ.get("OPENAI_BASE_URL")) and _same(url, chosen):
        return _own_key(uri, url, "OPENAI_API_KEY", needed=_same(url, HOSTED))
    service = service_at(url)
    if service is None or not service[1].key or (chosen and _same(url, HOSTED)):
        return ""
    return _own_key(uri, url, service[1].key, needed=True)


def azure_token(url: str) -> str:
    """Return the Microsoft Entra token for a resource of Azure's; "" for none."""
    return secret_from_environment("AZURE_OPENAI_AD_TOKEN") if _is_azures(url) and may_have_keys(url, url) else ""


def at_address(options: Mapping[str, object], name: str, url: str, models: ModelsConfig) -> object | None:
    """Return the value of an option that holds a key, for one address.

    The option maps addresses to values, or is one value; then all models of the settings must have one host.

    Raises:
        ConfigError: one value for several hosts.
    """
    value = options.get(name)
    servers = (url, *_servers(models))
    if isinstance(value, Mapping) and any("://" in str(address) for address in value):
        return next((given for address, given in value.items() if _same(str(address), url)), None)
    others = [server for server in servers if not _same(server, url)]
    if value and others:
        raise ConfigError(
            f"models.options.{name} would send one key to {url} and {others[0]}",
            hint=f"Name the address that it belongs to: {name}: {{{url}: ...}}.",
        )
    return value


def refuse_unused_addresses(models: ModelsConfig, *more: str) -> None:
    """Refuse options that name a key for an address that no model has.

    Args:
        models: settings of the models.
        more: further model URIs.

    Raises:
        ConfigError: there is one.
    """
    servers = [url for uri in more if uri for url in ModelURI.parse(uri).urls] + list(_servers(models))
    for name in ("api_key_env", "api_key_file", "extra_headers"):
        value = models.options.get(name)
        for address in value if isinstance(value, Mapping) else ():
            if "://" in str(address) and not any(_same(str(address), server) for server in servers):
                raise ConfigError(
                    f"models.options.{name}: no chosen model has the address {address}",
                    hint=f"Addresses of the models: {', '.join(servers) or 'none'}.",
                )


def refuse_http(url: str, what: str) -> None:
    """Raise an error if a key would go over http to another machine.

    Raises:
        ConfigError: it would.
    """
    if not may_have_keys(url, url):
        raise ConfigError(
            f"{what} would go to {url} unencrypted",
            hint="Use an https address, or an ssh tunnel and http://localhost:PORT/v1.",
        )


def _servers(models: ModelsConfig) -> tuple[str, ...]:
    """Return the addresses of all models in the settings that are on servers."""
    found: list[str] = []
    for text in (models.generator, models.scorer, models.judge):
        uri = ModelURI.parse(text) if text else None
        if uri is None or (not uri.urls and uri.scheme not in ("openai", "azure", "batch", "decision")):
            continue
        found += uri.urls or (address_without_url(uri),)
    return tuple(dict.fromkeys(found))


def address_without_url(uri: ModelURI) -> str:
    """Return the address of a model whose URI names none.

    Raises:
        ConfigError: Azure's resource is not named.
    """
    if uri.scheme != "azure":
        return os.environ.get("OPENAI_BASE_URL") or HOSTED
    url = os.environ.get("AZURE_OPENAI_ENDPOINT", "").strip()
    if not url:
        raise ConfigError(
            f"{uri}: the address of the Azure resource is missing",
            hint="Write azure:DEPLOYMENT@https://RESOURCE.openai.azure.com, or set AZURE_OPENAI_ENDPOINT.",
        )
    return url


def _own_key(uri: ModelURI, url: str, variable: str, *, needed: bool) -> str:
    key = secret_from_environment(variable) if may_have_keys(url, url) else ""
    if not key and needed:
        raise ModelAccessError(
            f"{uri}: no key in the environment variable {variable}",
            hint=f"Set {variable}, or name your own server: openai:NAME@http://HOST:PORT/v1",
        )
    return key


def _from_environment(uri: ModelURI, variable: str) -> str:
    key = secret_from_environment(variable)
    if not key:
        raise ModelAccessError(
            f"{uri}: no key in the environment variable {variable}, which models.options.api_key_env names",
            hint=f"Set {variable}.",
        )
    return key


def key_from_file(uri: ModelURI, file: str) -> str:
    """Return the key from a file that contains nothing else.

    Raises:
        ModelAccessError: the file cannot be read, or does not contain exactly one key.
    """
    try:
        with ordinary(Path(file).expanduser()).open(encoding="utf-8") as opened:
            key = as_secret(opened.read(_LONGEST_FILE))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ModelAccessError(f"{uri}: models.options.api_key_file: {file} cannot be read: {why}") from error
    if not key or len(key.split()) != 1:
        raise ModelAccessError(
            f"{uri}: models.options.api_key_file: {file} must contain exactly one key",
            hint="Write the key alone into the file.",
        )
    return key


def _is_azures(url: str) -> bool:
    endpoint = os.environ.get("AZURE_OPENAI_ENDPOINT", "").strip()
    return _same(url, endpoint) if endpoint else (urlsplit(url).hostname or "").lower().endswith(_AZURE_HOSTS)


def _same(one: str, other: str) -> bool:
    try:
        return origin(one) == origin(other)
    except ValueError:
        return False
