"""`scirgen merge`: makes one run of several."""
