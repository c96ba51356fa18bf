"""``python -m scirgen``."""

from scirgen.cli.main import main

main()
