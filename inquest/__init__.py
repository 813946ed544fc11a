"""The front door: command line, rendering, chat, servers. Thin."""

__version__ = "0.1.0"
