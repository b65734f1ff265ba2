"""`python -m portal.cli` is the `groundcrew` command."""

from .main import main

main()
