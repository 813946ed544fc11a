"""Whether training was under way, how far it came, and whether it said that it finished."""

from __future__ import annotations

from dataclasses import dataclass

from agent_tools.facts.views import RowView, View

FAR = 20
"""A single line of a loop that does not give the whole loss counts as training where it is of this step or a later one."""

_SAYS_AFTER = frozenset({"hf-trainer", "megatron", "ultralytics", "fairseq", "detectron2", "espnet"})
"""Trainers whose own word of the end is printed after the loop, and nowhere else."""


_SIMULATIONS = frozenset({"lammps", "gromacs", "namd", "amber", "openmm", "cp2k", "vasp"})
"""Programs that compute in steps and learn nothing."""
EPOCHS = 2
"""Epochs of which each has a report of its own: that many are no start of a training."""
MOST = 0.9
"""Share of the planned steps from which on the work counts as done."""
CLOSING = 2
"""Lines after an exception in which the bar of its loop is drawn for the last time."""


@dataclass(frozen=True, slots=True)
class Progress:
    """`steps` is the row of parsed progress, `hints` the row of lines that merely look like it; each None where absent."""

    steps: RowView | None
    hints: RowView | None
    begun: bool
    finished: bool
    finish: RowView | None

    @property
    def parsed(self) -> bool:
        """Progress was reported in a form that a parser knows."""
        return self.steps is not None

    @property
    def few(self) -> bool:
        """Whether too little was trained to speak of how it went from step to step. A whole epoch is many steps."""
        s = self.steps
        if s is None:
            return True
        if (
            not s.has("last_step")
            and (s.number("last_epoch") or 0) >= EPOCHS
            and s.number("last_epoch") == s.number("reports")
        ):
            return False
        return (s.number("last_step") or s.number("reports") or 0) < FAR

    @property
    def last_hint(self) -> float:
        """Last line that shows the loop alive, zero where there is none."""
        rows = ((self.steps, "last_line"), (self.hints, "last_line"), (self.hints, "bar_line"))
        return max((r.number(c) or 0.0 for r, c in rows if r is not None), default=0.0)

    @property
    def done_by_bar(self) -> float | None:
        """Share of the steps that the loop's own bar counts to; None without one, or where it counts the batches of an epoch."""
        hints = self.hints
        if hints is None or hints.number("bar_epochs") or (hints.number("bar_fulls") or 0) > 1:
            return None
        step, total = hints.number("bar_step"), hints.number("bar_total")
        return step / total if step and total else None

    @property
    def by_a_bar(self) -> bool:
        """Whether a bar that names no epoch is all that speaks of a loop: data that is prepared is counted by one as well."""
        hints = self.hints
        return self.steps is None and hints is not None and not hints.number("lines") and not hints.number("bar_epochs")

    def moved_after(self, line_end: float) -> bool:
        """Whether the loop was seen at work after this line, the last of an exception.

        A bar is drawn once more when it is closed, which an exception does to it: that is right behind the exception.
        """
        told = [r.number("last_line") or 0.0 for r in (self.steps, self.hints) if r is not None]
        bar = (self.hints.number("bar_line") or 0.0) if self.hints is not None else 0.0
        return max(told, default=0.0) > line_end or bar > line_end + CLOSING

    @property
    def finish_line(self) -> float | None:
        """Line of the last word of the end."""
        return self.finish.number("last_line") if self.finish is not None else None

    @property
    def simulates(self) -> bool:
        """Whether the steps are those of a simulation, which has no loss and learns nothing."""
        return self.steps is not None and self.steps.text("framework") in _SIMULATIONS

    @property
    def phrase(self) -> str:
        """How far training came, with references; empty where nothing is known."""
        if self.steps is not None:
            s = self.steps
            what = "the simulation" if self.simulates else "training"
            if s.has("last_step") and s.has("total_steps"):
                return f"{what} had reached step {s['last_step']} of {s['total_steps']}"
            if s.has("last_step"):
                return f"{what} had reached step {s['last_step']}"
            if s.has("last_epoch"):
                return f"training had reached epoch {s['last_epoch']}"
            return f"training had been reported {s['reports']} times"
        if self.hints is not None and self.hints.number("lines"):
            return f"a training loop was printing progress (last at line {self.hints['last_line']})"
        if self.hints is not None and self.hints.has("bar_step"):
            return f"a progress bar stood at {self.hints['bar_step']} of {self.hints['bar_total']}"
        return ""


def read_progress(steps: RowView | None, hints: RowView | None, phases: View, checkpoints: View) -> Progress:
    """Judge the summary of parsed steps, the hints, the phases and the checkpoints."""
    ended = phases.one_of("kind", "train_end")
    if steps is not None and _before_the_first(steps):
        steps = None
    trained = steps is not None and (
        (steps.number("last_step") or 0) >= 1
        or (steps.number("last_epoch") or 0) > 0
        or (steps.number("reports") or 0) >= 1
    )
    hinted = hints is not None and (
        (hints.number("lines") or 0) >= 2
        or (hints.number("furthest") or 0) >= FAR
        or (hints.number("passes") or 0) >= 1
        or (hints.number("counted") or 0) >= 1
        or ((hints.number("bar_step") or 0) >= 1 and hints.has("bar_total"))
    )
    tracked = any(p.text("name") == "run_history" for p in phases)
    over = any(p.text("framework") in _SAYS_AFTER or _came_to_its_limit(p) for p in ended)
    saved = any(c.text("name") in ("saved", "saving") and (c.number("step") or 0) > 0 for c in checkpoints)
    return Progress(
        steps=steps,
        hints=hints if hinted else None,
        begun=trained or hinted or saved or tracked or over,
        finished=bool(ended),
        finish=ended[-1] if ended else None,
    )


def _came_to_its_limit(ended: RowView) -> bool:
    """Lightning's word of a limit that its loop came to, which it says of an empty loader too and of a limit of nothing.

    SOURCE: `done` of lightning/pytorch/loops/fit_loop.py.
    """
    limit = ended.number("total_steps") or ended.number("total_epochs")
    return ended.text("framework") == "lightning" and ended.text("name") in ("max_steps", "max_epochs") and bool(limit)


def _before_the_first(steps: RowView) -> bool:
    """Reports of step zero alone that nothing was trained for.

    A loss of exactly zero is how a bar is drawn before anything was computed; a loss of both splits on one line was evaluated.
    """
    counted = (steps.number("last_step") or 0) or (steps.number("last_epoch") or 0)
    reports = steps.number("reports")
    if counted or not reports:
        return False
    return (reports == 1 and steps.number("last_loss") == 0) or steps.number("untrained") == reports
