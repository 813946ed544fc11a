"""C2, collective hang: ranks that had worked together block in a collective that one of them never entered or left.

FOR      a watchdog's time-out after the process group was up; frozen completions and launches while the allocation is held
AGAINST  slow but advancing collectives (D2); a pause for evaluation, a checkpoint or compilation; an exception before it
DECIDES  the watchdog or the flight recorder; the rank whose last enqueued equals its last completed never entered
"""

from __future__ import annotations

from agent_tools.facts import Facts, RowView
from agent_tools.facts.counting import counting
from agent_tools.facts.finished import unexited
from agent_tools.facts.held_up import (
    came_to_rest,
    first_half,
    last_collective,
    last_launch,
    named,
    node_at_rest,
    only_spun,
    rested_long,
    spinning,
    unlaunched,
)
from agent_tools.facts.worked import worked_on
from agent_tools.families.base import Assessment
from agent_tools.families.hang_causes import rested_by_storage, why_they_stood
from agent_tools.families.killed_first import killed_first
from agent_tools.families.quiet_meanwhile import no_report_since
from agent_tools.families.stalls import STALLS, TOLD, some_stand_still, stalled_for_good, stood_still, waited_at_store
from agent_tools.families.wording import claim, gpu_of, missing
from agent_tools.verdict import Claim

CODE = "C2"
EXPLAINS = ("A2", "C1", "C3", "D1", "D2", "D3", "F3", "F4", "G1")

_ACTIVITY = ("gpu_sample", "cuda_sample", "nccl_sample")
_SIGABRT = 6
_NO_WORK = 0.03
"""SM activity of GPUs that only wait."""
_GAVE_UP = ("collective_timeout", "monitored_barrier", "desync", "stall_shutdown")
_WEAK = ("gloo_timeout", "heartbeat", "dump_signal", "timeout_state", "teardown", "peer_lost")


def assess(facts: Facts) -> Assessment:
    """Judge C2 from the watchdog's words, flight-recorder rows and the activity of the GPUs."""
    if facts.ending.succeeded:
        return Assessment(CODE, "ruled_out", counterfactual="The job completed, so no collective blocked it for good.")
    events = facts.table("nccl_events")
    gave_up = events.where(
        lambda r: (
            r.text("name") in _GAVE_UP
            or (r.text("name") == "watchdog_exception" and "timeout" in r.text("message").lower())
        )
    )
    # Of what one rank prints as it gives up, the line that names the collective tells most.
    gave_up = sorted(gave_up, key=lambda r: not r.has("collective")) or stalled_for_good(facts, events)
    weak = [r for r in events.one_of("name", *_WEAK) if not facts.trained_past(r)]
    gave_up = gave_up or [r for r in events.one_of("name", "silent_rank") if not facts.trained_past(r)]
    raised = facts.of_role("collective") or waited_at_store(facts)
    # The process group aborts its process (SIGABRT) when its transport fails: only another signal is a death of its own.
    dead = facts.table("fatal_signals").where(lambda r: r.get("signal") != _SIGABRT)
    under_way = facts.progress.begun or transfer_failed(facts)
    if not weak and under_way and not dead and not facts.of_role("application"):
        # A fabric that fails under a running job: where nothing else is told, it is what is known.
        weak = [r for r in events.one_of("name", "ib_error") if not facts.trained_past(r)]
    gave_up = gave_up or stood_still(facts, events)
    waits = facts.table("nccl_waits") or facts.table("nccl_mismatch")
    frozen = [] if waits else _frozen(facts)
    if not gave_up and not weak and not raised and not frozen and not waits:
        return _absent(facts)
    result = Assessment(CODE, "confirmed", confidence=0.91, attribution="undetermined")
    result.counterfactual = "Collectives timed out."
    stalled = bool(gave_up) and gave_up[0].text("name") in STALLS
    if gave_up:
        TOLD.get(gave_up[0].text("name"), _watchdog)(gave_up[0], result)
    elif waits:
        what = waits.rows[0]["collective"] if waits.rows[0].has("collective") else "a collective"
        result.headline = f"The ranks froze in {what} of the process group {waits.rows[0]['comm']}."
    elif frozen:
        result.headline = "The ranks froze in a collective while they held their GPUs."
    elif raised:
        result.headline = f"A collective gave up waiting: {raised[0].message_ref}"
        result.speaks_for.append(claim(f"{raised[0].name_ref}: {raised[0].message_ref} ({raised[0].where_ref})."))
        result.confidence = 0.85
    else:
        _only_weak(facts, weak[0], result)
    result.speaks_for += frozen
    if facts.progress.phrase:
        result.speaks_for.append(claim(f"Before that, {facts.progress.phrase}."))
    if not named(facts, result):
        result.missing.append(
            missing(
                "Which rank held the others up, and in which call it stood.",
                "the flight recorder of every rank (TORCH_NCCL_TRACE_BUFFER_SIZE), or a host stack of each (py-spy)",
            )
        )
    broken = [r for r in weak if r.text("name") == "ib_error"]
    why_they_stood(facts, result, gave_up[0] if gave_up else None, at_once=not gave_up and bool(broken))
    _slow_before(facts, result)
    _first_collective(facts, gave_up, result)
    result.implies.append(
        claim(
            "The ranks that report the time-out are the victims; the cause is the rank that died, was late or took another "
            "path. High engine activity in such a wait is spinning and no work.",
            "supported",
        )
    )
    result.actions.append(
        claim(
            "Look at the rank that is named (or the silent one) first: its log, its node, its data; do not blame the reporters."
        )
    )
    if stalled:
        result.actions.append(
            claim(
                "Set HOROVOD_STALL_SHUTDOWN_TIME_SECONDS, so that a job whose rank is lost ends by itself.", "supported"
            )
        )
    elif not waits:
        result.actions.append(
            claim(
                "Rerun with the flight recorder on, and let the watchdog end the job, so that a lost rank fails fast.",
                "supported",
            )
        )
    return result


def transfer_failed(facts: Facts) -> bool:
    """A transfer over InfiniBand came back with an error: the group had formed by then, and was at a collective."""
    rows = facts.table("nccl_events").one_of("name", "ib_error")
    return any(w in r.text("message") for r in rows for w in ("ompletion from peer", "etry count"))


def _slow_before(facts: Facts, result: Assessment) -> None:
    """Whether one GPU was behind the others while the run still went on."""
    steps = facts.progress.steps
    if steps is None or not steps.has("first_ts") or facts.beside is not None:
        return
    row = facts.table("gpu_spread", from_ts=steps.text("first_ts"), to_ts=steps.text("last_ts")).first
    if row is None or (row.number("times_peers") or 0) < 2.2 or (row.number("peer_engine_median") or 0) <= 0.8:
        return
    result.warnings.append(
        claim(
            f"Before it, {gpu_of(row)} was slower than the others: its mean SM activity was {row['sm_mean']}, their median "
            f"{row['peer_sm_median']}."
        )
    )


def _watchdog(row: RowView, result: Assessment) -> None:
    what = f" in {row['collective']}" if row.has("collective") else ""
    result.headline = f"The job hung{what}: a collective did not finish within its limit."
    rank = f"Rank {row['rank']}" if row.has("rank") else "A rank"
    after = f" after {row['elapsed_s']} s" if row.has("elapsed_s") else ""
    seq = f", sequence {row['seq']}" if row.has("seq") else ""
    where = f"{row['file']} line {row['line_no']}"
    if row.has("collective"):
        result.speaks_for.append(claim(f"{rank} gave up waiting in {row['collective']}{seq}{after} ({where})."))
    else:
        result.speaks_for.append(claim(f"{rank} reports: {row['message']} ({where})."))
    if row.has("timeout_s"):
        result.speaks_for.append(claim(f"The limit was {row['timeout_s']} s."))


def _only_weak(facts: Facts, row: RowView, result: Assessment) -> None:
    gone = facts.table("nccl_events").one_of("name", "remote_error", "peer_lost")
    left = [r for r in facts.table("slurm_messages").one_of("name", "task_exit") if r.get("exit_code") in range(1, 126)]
    result.status, result.confidence = "suspected", 0.35 if gone and left else 0.55  # none waits for a task that left
    if row.text("name") == "peer_lost" and any(w in row.text("message") for w in ("heartbeat", "another task died")):
        result.confidence = min(result.confidence, 0.45)  # a task that is gone: preempted, killed or crashed, no hang
    result.speaks_for += [claim(f"A task had ended by itself: {r['message']}.") for r in left[:1] if gone]
    result.headline = f"The process group reports a stuck peer: {row['message']}"
    result.speaks_for.append(claim(f"The log says: {row['message']} ({row['file']} line {row['line_no']})."))


def _first_collective(facts: Facts, gave_up: list[RowView], result: Assessment) -> None:
    """The very first collective: somebody was still busy at the start, or the network never worked."""
    if facts.progress.begun or not gave_up or (gave_up[0].number("seq") or 99) > 2:
        return
    result.confidence = min(result.confidence, 0.75)
    result.implies.append(
        claim(
            "It was among the first collectives: a rank that is still preparing data while the others wait looks the same as "
            "a network that does not work.",
            "hypothesis",
        )
    )
    result.missing.append(missing("Whether some rank was still preparing data.", "what that rank printed meanwhile"))


def _frozen(facts: Facts) -> list[Claim]:
    """Signs without the watchdog's word: stuck collectives, no completions, engines that spin."""
    found: list[Claim] = []
    progress = facts.table("nccl_progress")
    stuck = [r for r in progress if r.has("stuck_collective")]
    if stuck:
        first = stuck[0]
        found.append(
            claim(
                f"Rank {first['rank']} is stuck in {first['stuck_collective']}, sequence {first['stuck_seq']}, unfinished."
            )
        )
        if any(r.get("never_entered") for r in progress):
            return found
    if (last := last_collective(facts)) is not None:
        found.append(
            claim(
                f"Collectives had completed ({last['completed']} on rank {last['rank']}), and none did after {last['completed_ts']}."
            )
        )
    launched = facts.table("cuda_activity").where(lambda r: (r.number("launches") or 0) > 0)
    if len(launched) > 1 and all(r.get("launches_late") == 0 for r in launched):
        found.append(_launched(last_launch(launched)))
    spread = facts.table("gpu_spread").first
    if found and spread is not None and spread.get("spinning") and facts.beside is None:
        found.append(claim(spinning(spread)))
    return found if len(found) > 1 or (stuck and len(stuck) > 1) else []


def _launched(row: RowView) -> Claim:
    rank = f" (rank {row['rank']})" if row.has("rank") else ""
    return claim(
        f"Kernels had been launched ({row['launches']} by process {row['pid']}{rank}), and none were after {row['launched_ts']}."
    )


def _absent(facts: Facts) -> Assessment:
    if (few := some_stand_still(facts)) is not None:
        return few
    quiet = facts.table("quiet_end").first
    late = facts.state in ("TIMEOUT", "CANCELLED", "DEADLINE") or facts.ending.says("time_limit")
    many = _many(facts)
    unseen = not any(facts.has(t) for t in _ACTIVITY) and quiet is None and late and many
    if unseen or (not facts.has_log and not facts.has("nccl_sample")):
        return Assessment(
            CODE,
            "undecidable",
            counterfactual="Nothing tells whether the ranks were at work to the end, so a hang can be neither seen nor ruled out.",
            missing=[missing("Whether collectives went on.", "the job's output; nccl_sample; a flight recorder dump")],
        )
    if quiet is not None and late and many and _long(quiet) and counting(facts, quiet.number("quiet_s") or 0) is None:
        return _stood_still(facts, quiet)
    if quiet is None and late and many and (stands := _spun(facts) or _launched_no_more(facts)) is not None:
        return stands
    if late and many and facts.progress.begun and (stands := rested_by_storage(facts)) is not None:
        return stands
    if facts.state == "RUNNING" and many and rested_long(facts) is not None and (stands := _spun(facts)) is not None:
        stands.headline = "The GPUs only spin, and have for a long time: training has come to a standstill."
        no_report_since(facts, stands)
        return stands
    return Assessment(CODE, "ruled_out", counterfactual="No collective timed out, and none is known to be stuck.")


def _many(facts: Facts) -> bool:
    """Whether the job held several GPUs; an accounting that was asked for few columns tells of none, and then samples do."""
    if facts.overview is None:
        return False
    held = facts.overview.number("gpus")
    if held is None:
        return (facts.overview.number("node_count") or 0) > 1 or facts.table("gpu_summary").row_count > 1
    return held > 1


def _stood_still(facts: Facts, quiet: RowView) -> Assessment:
    """Reports that came to an end long before the job did."""
    # Where the GPUs' samples stop early too, whoever collected both may have stopped, and not the training.
    share = quiet.number("quiet_share") or 0
    long = share > 0.5 or (share > 0.3 and (quiet.number("times_usual") or 0) > 50)
    spread = only_spun(facts)
    spins = spread is not None
    done = unexited(facts)
    at_work = "" if spins else worked_on(facts)
    sure = (spins or (long and not done)) and facts.silent_gpus is None and not at_work
    result = Assessment(CODE, "confirmed" if sure else "suspected", confidence=0.7 if sure else 0.45)
    result.speaks_against += [claim(at_work)] if at_work else []
    result.headline = f"Training stood still for the last {quiet['quiet_min']} before the job was ended."
    if done:
        result.headline = f"The work was done, and its processes did not exit in the {quiet['quiet_min']} after it."
    result.speaks_for += [claim(d) for d in done]
    text = f"The last training report came {quiet['quiet_min']} before the end; usually one came after {quiet['usual_gap_s']}."
    result.speaks_for.append(claim(text))
    if spread is not None:
        result.confidence = 0.82
        result.speaks_for.append(claim(spinning(spread)))
    elif node_at_rest(facts, result):
        result.confidence = 0.82
    if quiet.has("progress_text"):
        result.speaks_for.append(claim(f"That report was: {quiet['progress_text']}."))
    if not done:
        killed_first(facts, result)
        why_they_stood(facts, result)
    watched = facts.has("gpu_sample") and facts.silent_gpus is None
    if (gpus := facts.silent_gpus) is not None:
        result.speaks_for.append(claim(f"The GPUs' samples stop before the end, too, at {gpus['last_ts']}."))
    return _mostly_a_collective(
        result,
        "Whether the ranks were stuck in a collective.",
        f"nccl_sample{'' if watched else ', gpu_sample'}, or a flight recorder dump",
    )


def _spun(facts: Facts) -> Assessment | None:
    """A log without times says nothing of a pause: GPUs that computed before and only spin at the end tell it alone."""
    spread = came_to_rest(facts)
    if spread is None or not facts.progress.begun:
        return None
    result = Assessment(CODE, "confirmed", confidence=0.72, attribution="undetermined")
    result.headline = "At the end the GPUs only spun: training had come to a standstill."
    result.speaks_for.append(claim(spinning(spread)))
    if "spin_sm" not in spread.columns:
        busy = [f"their memory activity had been {spread['busy_dram']}"] if spread.has("busy_dram") else []
        busy += [f"their power {spread['busy_power_w']}"] if spread.has("busy_power_w") else []
        result.confidence = 0.72 if spread.has("busy_dram") else 0.62
        result.speaks_for.append(claim(f"In a busy minute {' and '.join(busy)}."))
    else:
        half = first_half(facts)
        result.confidence = 0.72 if (spread.number("spin_sm") or 0.0) <= _NO_WORK else 0.65
        result.speaks_for.append(claim(f"Over the whole run the SM activity was {spread['all_sm_median']} (median)."))
        if half is not None and half.has("all_sm_median"):
            result.speaks_for.append(claim(f"In its earlier part it was {half['all_sm_median']}."))
    if facts.progress.phrase:
        result.speaks_for.append(claim(f"By the log, {facts.progress.phrase}."))
    known = killed_first(facts, result)
    why_they_stood(facts, result)
    return _mostly_a_collective(result, _unknown(known), "a log with times; nccl_sample")


def _launched_no_more(facts: Facts) -> Assessment | None:
    """The same without GPUs that could be told to spin: every process had launched kernels, and none did to the end."""
    row = unlaunched(facts)
    if row is None or not facts.progress.begun or unexited(facts):
        return None
    result = Assessment(CODE, "confirmed", confidence=0.8, attribution="undetermined")
    result.headline = "At the end no rank launched anything: training had come to a standstill."
    result.speaks_for.append(_launched(row))
    spin = facts.table("gpu_spin").first
    if spin is not None and spin.number("cold") == 1 and facts.beside is None:
        where = gpu_of(spin, "cold_node", ("cold_gpu", "cold_uuid"))
        result.speaks_for.append(claim(f"The engine of a single GPU does nothing at the end: {where}."))
        result.implies.append(claim("The rank on that GPU is the one that the others wait for.", "hypothesis"))
    if facts.progress.phrase:
        result.speaks_for.append(claim(f"By the log, {facts.progress.phrase}."))
    known = killed_first(facts, result)
    return _mostly_a_collective(result, _unknown(known), "a log with times; nccl_sample")


def _unknown(named: bool) -> str:
    return f"When the last step was made{'' if named else ', and which rank held the others up'}."


def _mostly_a_collective(result: Assessment, unknown: str, signal: str) -> Assessment:
    """What holds of every standstill in which no collective was seen to be stuck."""
    result.implies.append(
        claim("A job of several GPUs that stops like this mostly hangs in a collective.", "hypothesis")
    )
    result.missing.append(missing(unknown, signal))
    result.actions.append(
        claim("Turn on the flight recorder and rerun; a stack of every rank names the call.", "supported")
    )
    return result


def _long(quiet: RowView) -> bool:
    """Many times the usual pause, and long: in minutes, or against the whole run."""
    quiet_s, times = quiet.number("quiet_s") or 0, quiet.number("times_usual") or 0
    return times > 20 and (quiet_s > 900 or (quiet_s > 60 and (quiet.number("quiet_share") or 0) > 0.3))
