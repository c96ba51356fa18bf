"""Model URIs: ``openai:NAME[@URL[,URL2]]``, ``azure:DEPLOYMENT[@URL]``, ``batch:NAME[@URL]``, ``hf:ID_OR_DIR``,
``vllm:ID_OR_DIR``, ``bundled:NAME``, a service's name (``mistral:NAME``), or a plugin's scheme."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from scirgen.core.errors import ConfigError
from scirgen.llm.services import services

FORMS = (
    "openai:NAME[@BASE_URL], azure:DEPLOYMENT[@RESOURCE_URL], batch:NAME[@BASE_URL], hf:ID_OR_DIR, vllm:ID_OR_DIR, "
    "bundled:smollm2-135m, or a service: anthropic:NAME, gemini:, openrouter:, mistral:, groq:, deepseek:, ollama:"
)


@dataclass(frozen=True)
class ModelURI:
    """A parsed model URI. ``scheme`` names the backend; ``urls`` are the endpoints that serve the same model."""

    scheme: str
    name: str
    urls: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.scheme}:{self.name}" + (f"@{','.join(self.urls)}" if self.urls else "")

    @classmethod
    def parse(cls, text: str) -> ModelURI:
        """Parse a URI; the registry checks whether the scheme exists. A service's name becomes ``openai:`` with its
        address.

        The endpoints start at the first ``@`` that is followed by ``http://`` or ``https://``, so names may contain an
        "@".

        Raises:
            ConfigError: the URI has none of the known forms.
        """
        scheme, colon, rest = text.strip().partition(":")
        if not colon or not scheme or not rest.strip():
            raise ConfigError(f"{text!r} is not a model URI", hint=f"Write it as {FORMS}.")
        if scheme in ("http", "https"):
            raise ConfigError(
                f"{text!r} is a server's address, not a model", hint=f"Write openai:NAME@{text}, with the model's name."
            )
        at = min((i for i in (rest.find("@http://"), rest.find("@https://")) if i >= 0), default=-1)
        name, urls = (rest, "") if at < 0 else (rest[:at], rest[at + 1 :])
        endpoints = tuple(dict.fromkeys(u.strip().rstrip("/") for u in urls.split(",") if u.strip()))
        if not name.strip():
            raise ConfigError(f"{text!r} does not name a model", hint="Write the model's name before the @.")
        if (
            scheme in ("openai", "azure", "batch", "decision")
            and not endpoints
            and "@" in name
            and name.rpartition("@")[2][:1].isalnum()
        ):
            host = name.rpartition("@")[2]
            if ":" in host or "/" in host or host.startswith("localhost"):
                raise ConfigError(
                    f"{text!r}: the address after @ has no http:// or https://",
                    hint=f"Write {scheme}:{name.rpartition('@')[0]}@http://{host}",
                )
        for url in endpoints:
            _check_url(url, text)
        if scheme != "openai" and scheme in services():
            return cls("openai", name.strip(), endpoints or (services()[scheme].url,))
        return cls(scheme, name.strip(), endpoints)


def _check_url(url: str, text: str) -> None:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise ConfigError(f"{text!r}: {url!r} is not an address: {error}", hint=f"Write it as {FORMS}.") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"{text!r}: {url!r} is not an http(s) address", hint=f"Write it as {FORMS}.")
    if parts.username or parts.password:
        raise ConfigError(
            "a model URI must not contain a user name or password",
            hint="Put the key into an environment variable, and name it in models.options.api_key_env.",
        )
