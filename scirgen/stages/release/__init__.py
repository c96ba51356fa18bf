"""Stage release; see stage.py."""
