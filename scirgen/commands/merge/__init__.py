"""`scirgen merge`: one release of several runs."""
