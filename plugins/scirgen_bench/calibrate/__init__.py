"""`scirgen calibrate`: measures faithfulness scores on labelled answers."""
