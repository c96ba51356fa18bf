"""Stage section; see stage.py."""
