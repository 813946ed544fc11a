"""Queries to evidence to verdict. Imports the store and the prompts; can never read a device."""
