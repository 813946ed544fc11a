"""Nodes that went down."""
