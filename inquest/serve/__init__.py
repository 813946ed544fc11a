"""Servers over a lake: MCP for editors and other programs that reason, HTTP for everything else."""
