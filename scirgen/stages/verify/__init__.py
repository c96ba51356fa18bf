"""Stage verify; see stage.py."""
