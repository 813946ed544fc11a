"""A verdict for a terminal, as Markdown, as a page, as JSON: pure functions of the sealed document."""
