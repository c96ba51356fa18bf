"""Stage generate; see stage.py."""
