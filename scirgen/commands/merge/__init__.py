"""`scirgen merge`: makes one release from several runs."""
