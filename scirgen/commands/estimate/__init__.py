"""`scirgen estimate`: predicts calls, tokens, cost and hours."""
