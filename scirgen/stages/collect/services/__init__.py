"""Services that find papers and their files, and repositories that are harvested."""
