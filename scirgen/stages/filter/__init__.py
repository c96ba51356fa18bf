"""Stage filter; see stage.py."""
