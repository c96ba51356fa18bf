"""`scirgen prompts`: checks, tries and compares prompts."""
