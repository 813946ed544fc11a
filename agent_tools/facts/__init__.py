"""Facts about one job: what the families may look at. Every cell of it carries its own reference."""

from agent_tools.facts.core import Facts
from agent_tools.facts.views import Cell, RowView, View

__all__ = ["Cell", "Facts", "RowView", "View"]
