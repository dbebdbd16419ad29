"""The exit codes, for scripts; docs/commands.md lists them for users."""

from __future__ import annotations

FINE = 0
MENDABLE = 1  # something is wrong with what was given, and the message says how to mend it
USAGE = 2  # an option or argument that does not exist, is missing, or cannot be read
BROKEN = 3  # doctor found a fault, or the program has one
INTERRUPTED = 130  # Ctrl-C
