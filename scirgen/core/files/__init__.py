"""Files of one kind, read and written in one way: JSON Lines, YAML with places, SQLite."""
