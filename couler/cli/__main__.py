"""`python -m couler.cli` does what `couler` does."""

from couler.cli import main

main()
