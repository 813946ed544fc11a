"""Queries to evidence to verdict. Imports the store and the prompts; can never read a device."""

import os

os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")  # the framework would print its own advertisement into a terminal
