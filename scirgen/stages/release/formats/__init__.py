"""Release formats beside the JSONL files; each is a plugin of kind ``release_format``."""
