"""Stage match; see stage.py."""
