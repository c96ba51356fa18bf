"""Stage collect; see stage.py."""
