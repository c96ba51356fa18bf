"""Stage tag; see stage.py."""
