"""For tests and plugin authors: a fake OpenAI-compatible server with deterministic, well-formed replies.

Nothing in scirgen imports this package.
"""
