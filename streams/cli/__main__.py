"""`python -m streams.cli` is the command `canonry`."""

from streams.cli import main

main()
