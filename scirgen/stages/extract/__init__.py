"""Stage extract; see stage.py."""
