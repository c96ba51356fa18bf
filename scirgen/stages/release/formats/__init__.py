"""Release formats in addition to the JSONL files; each is a plugin of kind ``release_format``."""
