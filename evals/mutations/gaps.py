"""Conditions that no case needs yet: inverted, they change no verdict that the suite looks at. Each is a case to write.

By family and condition as it stands in the code; an entry whose condition is caught or gone is to be deleted.
"""

from __future__ import annotations

GAPS: dict[tuple[str, str], str] = {}
