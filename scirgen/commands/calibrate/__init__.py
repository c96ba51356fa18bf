"""`scirgen calibrate`: judges faithfulness scores by labelled answers."""
