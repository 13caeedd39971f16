"""The command line. Importing it costs nothing but click; every command imports what it needs when it runs."""

from .entry import main, run_cli

__all__ = ["main", "run_cli"]
