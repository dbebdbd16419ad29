"""What the program says of itself everywhere: its version, which the build reads from here, and what it is not for."""

__version__ = "0.1.0"
NOTICE = "Research use only; not a medical device; not for beam control."
