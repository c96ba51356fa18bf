"""Readers and writers for JSON Lines, YAML with positions, and SQLite files."""
