"""Models behind an OpenAI-compatible server: chat, scoring, endpoints, limits."""
