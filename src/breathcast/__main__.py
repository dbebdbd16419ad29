"""`python -m breathcast`."""

from breathcast.cli.main import main

main()
