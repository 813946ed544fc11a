"""Speed and memory, as ratios against a peer or a limit in the same run."""


def missed(ratio: float, aim: float = 1.0) -> str:
    """A mark for a figure whose ratio is above its aim."""
    return "" if ratio <= aim else "   <- aim missed"
