"""Questions of people who know the subject and have not read the text."""
