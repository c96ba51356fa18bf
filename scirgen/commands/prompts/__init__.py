"""`scirgen prompts`: checks and tries prompts."""
