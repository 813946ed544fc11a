"""F3: the run was ended at its wall-clock limit. That is how it ended; why it did not finish is the question.

Progress up to the wall: it was healthy and needed more time. No progress for long before: it was stuck, the hang is the
family and the time limit its consequence. Not F3: a crash.
"""

from __future__ import annotations

from agent_tools.evidence import OR_LESS
from agent_tools.facts import Facts
from agent_tools.facts.counting import counting
from agent_tools.facts.finished import unexited
from agent_tools.facts.held_up import at_work_to_the_end, unlaunched
from agent_tools.facts.own_clock import accounted, silent, spoken
from agent_tools.facts.progress import MOST
from agent_tools.facts.views import RowView
from agent_tools.facts.worked import rested_at_end, worked_on
from agent_tools.families.asked_signal import ASKED, POLITE, died_of, unhandled
from agent_tools.families.base import Assessment
from agent_tools.families.data_waits import feed_first
from agent_tools.families.deadline import too_late
from agent_tools.families.last_at_start import stuck_at_start
from agent_tools.families.lone_wall import few_lines, lone_wall
from agent_tools.families.step_limit import by_step, of_step
from agent_tools.families.wording import by_log, gpu_of
from agent_tools.say import count, lacks, own_failure, quoted, say
from agent_tools.verdict import Claim, Missing

CODE = "F3"
EXPLAINS = ("A2", "F4")

STALLED_PACES = 12.0
STALLED_MIN = 20.0
LONG_PACES = 60.0
LONG_MIN = 1.0
MOVING_PACES = 5.0
ENFORCED_MIN, ENFORCED_SHARE = 1.0, 0.05
"""Slurm looks at the limits twice a minute and waits for half a one between SIGTERM and the end: until then fast steps are many."""
UNTIMED, FEW_WORDS = 0.6, 0.68
LATE, EARLY_S = 0.8, 75.0
"""Share of the limit after which a warning is of it; Slurm may send the signal that was asked for a minute early."""


def assess(facts: Facts) -> Assessment:
    """Judge the wall and what the run did before it."""
    end = facts.table("run_ending").first
    wall = facts.table("wall").first
    state = facts.state
    said = end is not None and (count(end, "time_limits") > 0 or end.text("stop_name") == "deadline")
    said_at_all = said or "time_limit" in facts.ending.marks
    step = of_step(facts) if said_at_all or not facts.has_log else None
    reached = state in ("TIMEOUT", "DEADLINE") or said_at_all or step is not None
    if not reached:
        return _forewarned(facts, end, wall) or _not_reached(facts, wall)
    if facts.overview is not None and too_late(facts):
        text = f"Slurm recorded the end as {facts.overview['state']}, and the job never ran."
        return Assessment(CODE, "ruled_out", confidence=0.02, counterfactual=text)
    shows = _shows(facts, end, wall)
    if step is not None and facts.overview is not None:
        return by_step(facts, facts.overview, step, shows)
    own = own_failure(facts)
    if own and not (
        end is not None
        and end.get("error_first") is False
        and count(end, "errors")
        and own.startswith(str(end["error_name"]))
    ):
        text = f"The time limit ended the run, but before that {own}: the time limit is only the end of it."
        return Assessment(
            CODE,
            "suspected",
            None,
            0.3,
            "undetermined",
            "The run was ended at its time limit after it had already failed.",
            say(*shows),
            counterfactual=text,
            warnings=say(text),
        )
    if done := unexited(facts):
        return _done(facts, [*shows, *done])
    pace = _moving(end, wall)
    if wall is not None and (bar := counting(facts, 60 * count(wall, "quiet_min"))) is not None:
        pace = "moving"
        shows.append(f"It was evaluating until then: {bar['text']} ({bar['file']} line {bar['line_no']}).")
    if pace == "stalled" and (at_work := worked_on(facts)):
        pace, shows = "unknown", [*shows, at_work]
    # A log without times that does not hold the end either may have been cut, or the run may have hung after its last line.
    untimed = (wall is None or _clockless(wall)) and _unseen(facts)
    blind = not said and untimed
    if untimed:
        pace = "moving" if accounted(wall) else "unknown"
        shows += spoken(wall)
    if pace == "stalled" and wall is not None:
        text = f"The last progress stands {wall['quiet_min']} before the end: most likely the run was stuck, and the limit is the consequence."
        return Assessment(
            CODE,
            "suspected",
            None,
            0.45,
            "undetermined",
            f"The run had made no progress for {wall['quiet_min']} when its {_limit(facts, end)} ended it: most likely it was hung, not slow.",
            say(*shows, text),
            implies=say(
                "The time limit only ended what was most likely stuck already: then the cause is the hang.",
                status="supported",
            ),
            missing=[
                lacks(
                    "Whether it still worked without a word (a save, an evaluation), and what it was waiting for if not.",
                    "the processes' stacks, NCCL's flight recorder, GPU metrics at that time",
                )
            ],
            actions=say("Do not simply raise the time limit: find out first why the run stopped making progress."),
            counterfactual=text,
            warnings=say(text),
        )
    if pace == "moving":
        return _slow(facts, wall, end, shows)
    return _unknown(facts, wall, shows, blind, _limit(facts, end))


def _forewarned(facts: Facts, end: RowView | None, wall: RowView | None) -> Assessment | None:
    """A job that has itself signalled ahead of its limit, and ends by itself then: by accounting it completed, or failed."""
    overview = facts.overview
    if overview is None or facts.state not in ("COMPLETED", "FAILED") or end is None or wall is None:
        return None
    asked = ASKED.search(overview.text("submit_line"))
    left = count(overview, "time_limit_s") - count(overview, "elapsed_s")
    due = asked is not None and left <= int(asked[1]) + EARLY_S
    died = died_of(facts, overview) if due else None
    if count(end, "ends") or not 0 < count(wall, "done") < MOST or own_failure(facts, causes_only=died is not None):
        return None
    late = count(wall, "used") >= LATE
    told = any(count(end, column) for column in ("warned", "terms"))
    # slurmstepd prints that of the signal that was asked for, where it is the one that ends a program by default.
    told = told or (due and POLITE.search(overview.text("submit_line")) is not None and count(end, "cancels") > 0)
    # Without a handler's word only a good end that late speaks for it: whatever else fails may fail then, too.
    if died is None and not ((due or late) if told else (due and late and facts.state == "COMPLETED")):
        return None
    shows = [f"Slurm recorded the end as {overview['state']}.", *_shows(facts, None, wall)]
    if due:
        shows.append(f"It had asked to be signalled ahead of its limit: {overview['submit_line']}")
    if end.has("interrupt_message"):
        shows.append(f"The log says: {quoted(end, 'interrupt_message', 'interrupt_line')}.")
    elif end.has("stop_message"):
        shows.append(f"The log says: {quoted(end, 'stop_message', 'stop_line')}.")
    need = _needed(wall)
    if died is not None:
        return unhandled(died, shows, need)
    saved = _saved_then(facts, end)
    if saved is not None:
        shows.append(f"It saved a checkpoint then: {quoted(saved, 'message', 'line_no')}.")
    return Assessment(
        CODE,
        "confirmed",
        None,
        0.85 if told and due else 0.7,
        "job",
        "The run saved a checkpoint and stopped itself at the warning ahead of its time limit: its work is to go on."
        if saved is not None
        else "The run stopped itself at the warning ahead of its time limit, before its work was done.",
        say(*shows),
        implies=say(
            f"The run was healthy and needed more time than its limit; the limit is no crash.{need}", status="supported"
        ),
        missing=[
            lacks(
                "Whether it saved all that it needs to go on.",
                "the checkpoint itself"
                if saved is not None
                else "a line that says what was saved, or the folder itself",
            )
        ],
        actions=say(
            "Submit it again to go on from its last checkpoint, or let it requeue itself when it is warned (scontrol requeue).",
            f"Or give it a longer --time.{need}",
        ),
    )


def _saved_then(facts: Facts, end: RowView) -> RowView | None:
    """A checkpoint that the log announces below the word of the warning."""
    line = max(count(end, "interrupt_line"), count(end, "stop_line"))
    rows = facts.table("checkpoints").where(lambda r: r.text("name") == "saved" and count(r, "line_no") > line > 0)
    return rows[0] if rows else None


def _done(facts: Facts, shows: list[str]) -> Assessment:
    """All that it had to do was done, by its own words or plan: what the wall ended is a process that had not exited yet."""
    text = "The work was done, but the process had not exited when the time limit ended it."
    return Assessment(
        CODE,
        "confirmed",
        None,
        UNTIMED,
        "job",
        text,
        say(*shows),
        implies=say(
            "A process that does not exit after its work mostly waits for data workers, an uploader, other ranks or a second part "
            "of its script that prints nothing.",
            status="hypothesis",
        ),
        missing=[
            lacks(
                "What the process still did or waited for.",
                "the processes' stacks (py-spy dump) or their GPU activity after the last line of the log",
            )
        ],
        actions=say(
            "Look first whether the results are whole: then nothing has to be trained again, and no longer --time helps.",
            "Let the program end what it started: destroy_process_group, the tracker's finish, the loaders' workers.",
        ),
        counterfactual=text,
        warnings=say(text),
    )


def _shows(facts: Facts, end: RowView | None, wall: RowView | None) -> list[str]:
    shows: list[str] = []
    if facts.overview is not None and facts.state in ("TIMEOUT", "DEADLINE"):
        shows.append(f"Slurm recorded the end as {facts.overview['state']}.")
    if wall is not None and wall.has("limit_h") and wall.has("elapsed_h"):
        shows.append(f"The job ran {wall['elapsed_h']} under a limit of {wall['limit_h']}.")
    if end is not None and count(end, "time_limits"):
        shows.append(f"The log says: {quoted(end, 'stop_message', 'stop_line')}.")
    if wall is not None and wall.has("last_step") and wall.has("total_steps"):
        shows.append(f"It had done step {wall['last_step']} of {wall['total_steps']} ({wall['done']}).")
    elif facts.progress.phrase:
        shows.append(f"By then {facts.progress.phrase}.")
    if wall is not None and wall.has("quiet_min") and wall.has("pace_s") and count(wall, "quiet_min") >= 0:
        shows.append(
            f"The last progress line stands {wall['quiet_min']} before the end; usually one came every {wall['pace_s']}."
        )
    return shows


def _moving(end: RowView | None, wall: RowView | None) -> str:
    """moving, stalled or unknown."""
    if wall is not None and wall.has("quiet_min") and not _clockless(wall):
        if count(wall, "quiet_paces") <= MOVING_PACES or _just_ended(wall):
            return "moving"
        if stalled(wall):
            return "stalled"
        return "moving" if count(wall, "quiet_min") <= 2.0 * count(wall, "longest_min") else "unknown"
    if end is not None and count(end, "reports") >= 2:
        return "moving"
    return "unknown"


def _just_ended(wall: RowView) -> bool:
    """Whether the silence before the end is no longer than ending a run takes, of a run that lasted far longer."""
    return count(wall, "quiet_min") <= min(ENFORCED_MIN, ENFORCED_SHARE * 60 * count(wall, "elapsed_h"))


def stalled(wall: RowView) -> bool:
    """No progress for far longer than the usual pace, and than the longest pause before (an evaluation, a save)."""
    quiet, paces = count(wall, "quiet_min"), count(wall, "quiet_paces")
    long = (quiet >= STALLED_MIN and paces >= STALLED_PACES) or (quiet >= LONG_MIN and paces >= LONG_PACES)
    # counted from the time of an earlier line it is only the most that it can have been
    return wall.has("pace_s") and not wall.has(OR_LESS) and long and quiet > 2.0 * count(wall, "longest_min")


def _at_work(facts: Facts) -> bool:
    """Whether samples to the end speak of work."""
    if not facts.has("gpu_sample") or facts.silent_gpus is not None:
        return False
    return facts.beside is not None or at_work_to_the_end(facts)


def _unseen(facts: Facts) -> bool:
    """Whether neither samples of GPUs nor launches tell of work to the end."""
    return not _at_work(facts) and (facts.silent_launches or unlaunched(facts) is not None)


def _clockless(wall: RowView) -> bool:
    # Lines without times of their own carry the file's bounds: then all of them have the same time and none tells a pace.
    return not wall.has("pace_s") or count(wall, "quiet_min") < 0


def _slow(facts: Facts, wall: RowView | None, end: RowView | None, shows: list[str]) -> Assessment:
    timed = wall is not None and wall.has("pace_s")
    need = _needed(wall)
    missing: list[Missing] = []
    if not timed:
        missing.append(
            lacks("Whether the last steps came at the usual pace.", "time stamps on the progress lines, or GPU metrics")
        )
    if not facts.has("gpu_sample"):
        missing.append(
            lacks("Whether the hardware was well used, and the run could be made faster.", "GPU metrics (gpu_sample)")
        )
    confidence = 0.95 if facts.state == "TIMEOUT" and timed else 0.9
    return Assessment(
        CODE,
        "confirmed",
        None,
        confidence,
        "job",
        f"The run was still making progress when it hit its {_limit(facts, end)}: it needed more time, or a higher speed.",
        say(*shows),
        implies=say(
            f"The run was healthy but slow for its limit; the time limit is no crash.{need}", status="supported"
        ),
        missing=missing,
        actions=[*feed_first(facts), *_actions(need, _limit(facts, end))],
    )


def _needed(wall: RowView | None) -> str:
    if wall is None or not count(wall, "needed_h") > 0:
        return ""
    return f" At this pace all planned steps would take {wall['needed_h']}."


def _limit(facts: Facts, end: RowView | None) -> str:
    """What Slurm ended it at: the limit of its own run, or the moment that it had to be over by."""
    dead = facts.state == "DEADLINE" or (not facts.state and end is not None and end.text("stop_name") == "deadline")
    return "deadline" if dead else "time limit"


def _actions(need: str, limit: str) -> list[Claim]:
    return say(
        f"Submit again with a longer --time.{need}"
        if limit != "deadline"
        else f"Submit again, early enough for its --deadline or with a later one.{need}",
        "Or split the work: save checkpoints, let the job catch a warning signal (--signal) and requeue itself before the limit.",
        "If it was expected to fit, look at the throughput: data loading, network, number of GPUs.",
    )


def _unknown(facts: Facts, wall: RowView | None, shows: list[str], blind: bool, limit: str) -> Assessment:
    begun = facts.progress.begun and not blind
    # Reports without a time, and nothing else that was watched: the last of them may be hours old.
    told = not _unseen(facts) and not (wall is not None and stalled(wall))
    confidence = 0.45 if blind else (0.88 if told else UNTIMED) if begun else 0.8
    mute = not begun and not facts.has("gpu_sample") and lone_wall(facts)
    if mute:
        confidence = 0.45  # The wall is all that is known: the run may have been slow, stuck, or never under way.
    elif not begun and not facts.has("gpu_sample") and few_lines(facts):
        confidence = FEW_WORDS
    idle = facts.cold and facts.silent_gpus is None and not begun
    if idle:
        # The wall is certain, but something held up a run that never began: that is the cause, and this its end.
        confidence = 0.45
        busiest = max(facts.table("gpu_summary"), key=lambda r: r.number("engine_mean") or 0.0)
        shows = [*shows, f"No GPU worked: the busiest had a mean engine activity of {busiest['engine_mean']}."]
    rested = None if idle else rested_at_end(facts)
    if rested is not None:
        text = f"{gpu_of(rested)} had worked most, {rested['engine_mean']} on average, and {rested['engine_late']} in the last minutes."
        shows = [*shows, f"No GPU worked at the end: {text}"]
    forming = not begun and not told and stuck_at_start(facts) is not None
    if forming:
        confidence = 0.45  # The ranks were still looking for each other: that is the cause, and the wall its end.
    lost = begun and _unseen(facts) and silent(wall)
    if lost:
        confidence = 0.45  # Of three tenths of the run no report tells: mostly it stood still then.
    return Assessment(
        CODE,
        "suspected" if idle or forming else "confirmed",
        None,
        confidence,
        "job" if begun and told and not lost else "undetermined",  # what keeps a stuck run may be no doing of its own
        f"The run was ended at its {limit}; whether it was slow or stuck by then{', or ever under way,' if mute else ''} is not known."
        if rested is None
        else f"The run was ended at its {limit}, and its GPUs had nothing to do by then: it waited, or was left, and was not slow.",
        say(*shows),
        implies=say("A time limit says how the run ended; whether it was slow or stuck is open.", status="supported"),
        missing=[
            lacks(
                "Whether the run was slow or stuck.",
                "progress lines with times, or kernel launches (cuda_sample), before the end"
                if facts.has("gpu_sample") and facts.silent_gpus is None
                else "progress lines with times, GPU activity (gpu_sample) or kernel launches (cuda_sample) before the end",
            )
        ],
        actions=(feed_first(facts) if begun else [])
        + say(
            "" if rested is None else "Find out what it waited for, or end such a job when its work is done.",
            "Check in the log when the last real progress was made. If it was shortly before the end, "
            f"{'raise --time' if limit != 'deadline' else 'choose a later --deadline'}; if not, look for a hang.",
            "Print progress regularly, so that a slow run can be told from a stuck one.",
        ),
    )


def _not_reached(facts: Facts, wall: RowView | None) -> Assessment:
    if facts.overview is not None and facts.state not in ("RUNNING", "PENDING"):
        text = f"Slurm recorded the end as {facts.overview['state']}."
        if wall is not None and wall.has("used"):
            text = f"Slurm recorded the end as {facts.overview['state']}, after {wall['used']} of the time limit."
        return Assessment(CODE, "ruled_out", confidence=0.01, counterfactual=text)
    return Assessment(
        CODE,
        "ruled_out" if facts.has_log else "undecidable",
        confidence=0.02,
        counterfactual=by_log(facts, "No line of the log speaks of a time limit."),
        missing=[lacks("How the job ended in Slurm's eyes.", "sacct (slurm_job)")],
    )
