"""Services that find papers and their files."""
