"""Stage parse; see stage.py."""
