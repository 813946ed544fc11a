"""E2: a run that should have gone on from a checkpoint began from scratch (silent), or crashed at the load (load_crash).

Silent is decided by three things together: the run was meant to resume, no marker of a load was printed, and the loss (or
the step count) is back at the start. Not E2: a first run, a resume that prints its marker, a base model that cannot be loaded.
"""

from __future__ import annotations

import re

from agent_tools.facts import Facts
from agent_tools.facts.exceptions import Raised
from agent_tools.facts.views import RowView
from agent_tools.families.base import Assessment
from agent_tools.say import count, lacks, quoted, say
from agent_tools.verdict import Claim, Missing

CODE = "E2"
EXPLAINS = ("A1", "A3", "E1", "F2", "G1")

_LOAD = re.compile(
    r"size mismatch for|Error\(s\) in loading state_dict|(Missing|Unexpected) key\(s\) in state_dict|UnpicklingError|"
    r"invalid load key|Ran out of input|storage has wrong size|pickle data was truncated|[Ii]nvalid magic number|PytorchStreamReader failed|failed finding central directory|failed reading zip archive|"
    r"unexpected EOF|corrupt|No valid checkpoint found|Can't find a valid checkpoint|CheckpointException|"
    r"(checkpoint|state_dict|optimizer state).{0,80}(mismatch|does not match|incompatible|not found|missing|invalid|empty|truncated)|"
    r"(mismatch|different).{0,80}checkpoint|loaded state dict|doesn't match the size of optimizer's group|shape mismatch|"
    r"incomplete metadata|objects could not be loaded|keys? .{0,80}(?:unexpected|missing).{0,20} (?:in|from) the checkpoint|Unable to (load|open).{0,60}checkpoint|could not (find|load|read).{0,60}checkpoint|Cannot load checkpoint",
    re.IGNORECASE,
)
_RESUME_ITSELF = re.compile(
    r"No valid checkpoint found in output directory|Can't find a valid checkpoint at|resume_from_checkpoint|"
    r"checkpoint-\d+|global_?step_?\d+|iter_\d{3,}|latest_checkpointed_iteration|optimizer's group|optimizer\.(pt|bin)|"
    r"optim_states|random_states|trainer_state|last\.ckpt|rng_state|/step[-_=]\d+|state_dict: optim|scheduler\.pt|-epoch=|epoch=\d+-step=\d+",
    re.IGNORECASE,
)
_RESUME_FRAME = re.compile(
    r"_load_from_checkpoint|load_checkpoint|resume|_load_optimizer|_load_rng|restore_state|restore_training|load_state\b|"
    r"load_training_state|maybe_load|checkpoint_connector|_restore_modules|load_(?:latest_|full_)+state|restore_checkpoint",
    re.IGNORECASE,
)
_STATE_FILE = re.compile(
    r"checkpoint-\d+|global_?step_?\d+/|[/_](optimizer|scheduler|random_states|rng_state|trainer_state|optim_states)\w*\.(bin|pt|pkl|json)|last\.ckpt",
    re.IGNORECASE,
)
_RESUMING = re.compile(
    r"resume|load_from_json$|_load_optimizer|_load_rng|restore_training|load_training_state|load_accelerator_state|\bin load_state$"
    r"|_restore_modules_and_callbacks|restore_(?:optimizers|lr_schedulers|loops|callbacks)\b",
    re.I | re.M,
)
_LOADING = re.compile(
    r"\bin (?:re)?load_(?:checkpoint|ckpt|latest_\w+|full_state)\b|\bin restore_(?:checkpoint|state)\b", re.M
)

# A key of a saved run that only going on from it needs, and the line that asks the checkpoint for it.
_STATE_KEY = re.compile(
    r"KeyError: ['\"]?(?:optim\w*|\w*optimizer\w*|\w*scheduler\w*|(?:global_?|total_?|num_?|current_?)?(?:epoch|step|iter(?:ation)?)s?|scaler|amp|best_\w+|rng_state\w*"
    r"|random_rng_state|args|start_epoch|pytorch-lightning_version|loops|trainer)['\"]?\s*$"
)
# What an optimizer of TensorFlow keeps beside each weight: weights that were trained have it, and only resuming needs it.
_SLOT = re.compile(
    r"(?:Key|Tensor name) \S*(?:/(?:Adam|Momentum|RMSProp|Adagrad|Adadelta|Ftrl)(?:_\d)?|beta[12]_power) .{0,20}not found in checkpoint"
)
# A path into the optimizer's own tensors: nobody but a load of a saved run asks for it.
_STATE_PATH = re.compile(
    r"KeyError: ['\"]?(?:[\w-]+\.)*optim\w*\.(?:[\w-]+\.)*(?:exp_avg\w*|momentum_buffer|param_groups\b)"
)
_ASKS_CHECKPOINT = re.compile(r"\b\w*(?:ckpt|checkpoint|resume|state|saved|snapshot)\w*\[", re.IGNORECASE)
_RESUMES = re.compile(r"\bresum(?:ed|ing)\b|continuing training", re.I)

# The idiom of scripts that look only where --resume says.
_NAMED_FILE = re.compile(r"=> no checkpoint found at ")


def assess(facts: Facts) -> Assessment:
    """Judge whether the run resumed."""
    signs = facts.table("resume_signs").first
    if signs is None:
        return Assessment(CODE, "undecidable", counterfactual="Nothing tells whether the run was meant to resume.")
    crash = _load_crash(facts, signs)
    if crash is not None:
        return crash
    if count(signs, "loads"):
        text = f"The run did load its checkpoint: {quoted(signs, 'load_message', 'load_line')}."
        return Assessment(CODE, "ruled_out", confidence=0.01, counterfactual=text)
    again = _again_in_log(facts)
    if again is not None:
        return again
    asked = _asked(signs)
    if not asked:
        return _not_meant(signs)
    return _silent(facts, signs, asked)


def _asked(signs: RowView) -> list[str]:
    """Why the run was meant to resume, in sentences with references."""
    asked: list[str] = []
    if signs.has("asked_by"):
        asked.append(f'The command asks to resume: "{signs["asked_by"]}".')
    if _NAMED_FILE.search(signs.text("fresh_message")):
        asked.append("It looked for a checkpoint that it had been told of, and the file was not there.")
    if count(signs, "earlier_attempts") and (count(signs, "earlier_saves") or signs.has("earlier_last_step")):
        asked.append(f"{signs['earlier_attempts']} earlier attempts of the job had trained before it.")
    if signs.has("dependency") and (signs.has("parent_last_step") or count(signs, "earlier_saves")):
        asked.append(f"The job was submitted to follow job {signs['parent_job']} ({signs['dependency']}).")
    return asked


def _before(signs: RowView) -> tuple[str, float, float] | None:
    """Prefix of the columns of the run before, with its first and last loss."""
    for prefix in ("earlier", "parent"):
        first, last = signs.number(f"{prefix}_first_loss"), signs.number(f"{prefix}_last_loss")
        if first is not None and last is not None:
            return prefix, first, last
    return None


def _silent(facts: Facts, signs: RowView, asked: list[str]) -> Assessment:
    before = _before(signs)
    start = signs.number("start_loss")
    shows = [*asked, "No line of the log says that a checkpoint was loaded or that training goes on from a step."]
    fresh = count(signs, "fresh") > 0
    if fresh:
        shows.append(f"The log says: {quoted(signs, 'fresh_message', 'fresh_line')}.")
    back: bool | None = None
    if before is not None and start is not None:
        prefix, first, last = before
        learnt = first - last
        if learnt > 0.05 * abs(first):
            back = start - last > 0.5 * learnt
            shows.append(
                f"The run before had brought the loss from {signs[prefix + '_first_loss']} to {signs[prefix + '_last_loss']}; "
                f"this one began at {signs['start_loss']}."
            )
    first_step, reached = signs.number("first_step"), _reached(signs)
    steps_back = first_step is not None and reached is not None and reached[1] >= 10 and first_step < 0.5 * reached[1]
    if reached is not None and first_step is not None:
        shows.append(
            f"The run before had reached step {signs[reached[0]]}; this one's first report is step {signs['first_step']}."
        )
    asked_step = signs.number("asked_step")
    if reached is None and first_step is not None and asked_step is not None and asked_step >= 10:
        steps_back = first_step < 0.5 * asked_step
        shows.append(
            f"The checkpoint that it names is of step {signs['asked_step']}; its first report is step {signs['first_step']}."
        )
    explicit = signs.has("asked_by") or count(signs, "earlier_attempts") > 0
    if back is False:
        text = f"The loss went on where the run before had left it (began at {signs['start_loss']}), so the checkpoint was loaded."
        return Assessment(CODE, "ruled_out", confidence=0.04, counterfactual=text)
    missing: list[Missing] = []
    if back:
        confidence = 0.93 if (steps_back or fresh or not explicit) else 0.85
        if not explicit and not (steps_back or fresh):
            confidence = 0.7
    elif fresh and signs.has("asked_by"):
        confidence = 0.85
        missing.append(
            lacks("How far the run before had come.", "the log of the run before (train_step of the parent job)")
        )
    elif fresh and _NAMED_FILE.search(signs.text("fresh_message")):
        # A first run whose script names the file from the start prints the same.
        confidence = 0.55
        missing.append(lacks("Whether a run before had written that file.", "the log of the run before"))
    elif steps_back and explicit:
        confidence = 0.75
        missing.append(lacks("Whether the loss is back at its start.", "losses of the run before"))
    else:
        return Assessment(
            CODE,
            "undecidable",
            "silent",
            0.25,
            "job",
            counterfactual=f"{asked[0]} No load marker was printed, but whether training began anew cannot be told.",
            missing=[
                lacks(
                    "Whether the checkpoint was loaded.",
                    "the log of the run before, with its losses; progress lines of this run",
                )
            ],
        )
    known = before is not None or count(signs, "earlier_attempts") > 0 or signs.has("asked_by")
    wasted = " The training of the run before was thrown away." if known else ""
    return Assessment(
        CODE,
        "confirmed" if confidence >= 0.6 else "suspected",
        "silent",
        confidence,
        "job",
        "The run was meant to go on from a checkpoint but silently trained from scratch."
        if confidence >= 0.6
        else "The run looked for a checkpoint, found none there and trained from scratch.",
        say(*shows),
        implies=say(
            f"The checkpoint was not honoured.{wasted} Loss and hardware look healthy, so nothing else shows it.",
            status="supported",
        ),
        missing=[
            *missing,
            lacks("Why the checkpoint was not loaded.", "the job script's paths and the checkpoint folder's contents"),
        ],
        actions=_actions(),
    )


def _reached(signs: RowView) -> tuple[str, float] | None:
    for column in ("earlier_last_step", "parent_last_step"):
        value = signs.number(column)
        if value is not None:
            return column, value
    return None


def _again_in_log(facts: Facts) -> Assessment | None:
    """A requeued job appends to one log: its steps begin anew, and so may its loss."""
    stretches = facts.table("loss_stretches").rows
    if len(stretches) < 2:
        return None
    before, now = stretches[-2], stretches[-1]
    if count(now, "loads") or not count(now, "stops") or not count(before, "saves"):
        return None
    first, last, start = before.number("first_loss"), before.number("last_loss"), now.number("first_loss")
    if first is None or last is None or start is None or first - last < 0.1 * abs(first):
        return None
    if start - last < 0.5 * (first - last) or count(now, "first_step") > 0.5 * count(before, "last_step"):
        return None
    return Assessment(
        CODE,
        "confirmed",
        "silent",
        0.88,
        "job",
        "After it was requeued the job silently trained from scratch instead of from its checkpoint.",
        say(
            f"The log holds {now['stretch']} beginnings. The one before reached step {before['last_step']} with loss {before['last_loss']} and saved {before['saves']} checkpoints.",
            f"After the stop the steps begin again at {now['first_step']} with loss {now['first_loss']} (line {now['first_line']}), and no load was printed between.",
        ),
        implies=say(
            "The checkpoint was not honoured; the training before the stop was thrown away.", status="supported"
        ),
        missing=[
            lacks("Why the checkpoint was not loaded.", "the job script's paths and the checkpoint folder's contents")
        ],
        actions=_actions(),
    )


def _load_crash(facts: Facts, signs: RowView) -> Assessment | None:
    found = _crash_text(facts, signs)
    if found is None:
        return None
    text, frames, quote, where = found
    meant = (
        bool(_asked(signs))
        or (signs.has("asked_by"))
        or (signs.has("dependency") and count(signs, "earlier_saves") > 0)
    )
    itself = any(p.search(text) for p in (_RESUME_ITSELF, _STATE_KEY, _STATE_PATH))
    framed = _RESUME_FRAME.search(frames) is not None
    slot = _SLOT.search(text) is not None
    loading = count(signs, "load_starts") > 0 and _RESUME_ITSELF.search(signs.text("load_start_message")) is not None
    # "Resuming from ..." is printed before the load as often as after it.
    said = "load_start_message" if loading else "load_message"
    loading = loading or (count(signs, "loads") > 0 and _RESUMES.search(signs.text("load_message")) is not None)
    shows = [f"The load failed with {quote}{where}."]
    if not (meant or itself or loading or framed or slot):
        return Assessment(
            CODE,
            "undecidable",
            "load_crash",
            0.25,
            "job",
            counterfactual=f"A load failed with {quote}{where}, but nothing shows that this was a resume and not a base model or an adapter.",
            missing=[
                lacks(
                    "Whether the run was meant to resume.",
                    "the submit line or command (slurm_job), or a resume message in the log",
                )
            ],
        )
    shows += _asked(signs)
    if loading:
        shows.append(f'It was loading: "{signs[said]}".')
    if not text:
        confidence = 0.62 if _RESUMING.search(frames) else 0.45
    elif meant or itself or loading:
        confidence = 0.92
    else:
        confidence = 0.7 if slot else 0.62
    kind, advice = _kind(text)
    return Assessment(
        CODE,
        "confirmed" if confidence >= 0.6 else "suspected",
        "load_crash",
        confidence,
        "job",
        f"The run crashed while it loaded the checkpoint that it should go on from: {kind}.",
        say(*shows),
        implies=say(
            "The checkpoint and the run do not fit, or the checkpoint is broken; the cluster is not at fault.",
            status="supported",
        ),
        missing=[
            lacks(
                "How the checkpoint came to be like that.",
                "the log of the run that saved it, and the folder's contents",
            )
        ],
        actions=say(advice, "Until it is clear, keep the older checkpoints; do not let the run overwrite them."),
    )


def _crash_text(facts: Facts, signs: RowView) -> tuple[str, str, str, str] | None:
    """Text and frames to judge, and how to cite them: the failed load that ended the run."""
    for raised in facts.causes:
        full = f"{raised.name}: {raised.message}"
        frames = f"{raised.calls} {raised.row.text('frame')} {raised.row.text('user_frame')}"
        if _LOAD.search(full) or _broken_off(raised, frames) or _lacks_state(raised) or _SLOT.search(full):
            return full, frames, f'{raised.name_ref} "{raised.message_ref}"', f" ({raised.where_ref})"
    began = facts.progress.begun
    for raised in facts.of_role("cut"):
        if not began and (_RESUMING.search(raised.calls) or _LOADING.search(raised.calls)):
            place = raised.row["frame" if raised.row.has("frame") else "file"].ref
            return "", raised.calls, f"an exception whose text is cut off, in {place}", f" ({raised.where_ref})"
    if count(signs, "load_failures") and not began:
        return (
            signs.text("load_failure_message"),
            "",
            f'"{signs["load_failure_message"]}"',
            f" (line {signs['load_failure_line']})" if signs.has("load_failure_line") else "",
        )
    return None


def _lacks_state(raised: Raised) -> bool:
    """The program asked its checkpoint for a part of a saved run, and it is not in it."""
    asks = _ASKS_CHECKPOINT.search(raised.calls.partition("\n> ")[2])
    text = f"{raised.name}: {raised.message}"
    return bool(_STATE_PATH.search(text) or (_STATE_KEY.search(text) and asks))


def _broken_off(raised: Raised, frames: str) -> bool:
    """An exception of any other kind that came out of the very code that resumes, or speaks of a file of a saved state."""
    if raised.name.rsplit(".", 1)[-1] in ("TypeError", "NameError", "ImportError", "ModuleNotFoundError"):
        return False
    if raised.fault.mode == "asset" and _STATE_FILE.search(raised.message):
        return True
    return _RESUMING.search(frames) is not None and raised.fault.mode == "asset"


def _kind(text: str) -> tuple[str, str]:
    if not text:
        return (
            "how it failed is cut off",
            "Look at the end of the whole log for what the load failed of.",
        )
    if re.search(r"size mismatch|shape mismatch|does not match|doesn't match|key\(s\)|mismatch", text, re.IGNORECASE):
        return (
            "its shapes or names do not match the model",
            "Use the checkpoint of the same model and configuration (same vocabulary, layers, parallel sizes), or the matching base.",
        )
    if any(p.search(text) for p in (_STATE_KEY, _STATE_PATH, _SLOT)):
        return (
            "it lacks a part of the saved run",
            "Resume from a checkpoint that holds the optimizer and the counters too, or start anew from its weights alone.",
        )
    if re.search(r"No valid checkpoint|Can't find a valid|not found|could not find|empty", text, re.IGNORECASE):
        return (
            "no valid checkpoint is there",
            "Check the checkpoint path and whether the run before saved anything there.",
        )
    return (
        "the checkpoint is broken or incomplete",
        "Go back to the checkpoint before it; the newest one was probably cut off while it was being written.",
    )


def _not_meant(signs: RowView) -> Assessment:
    missing = [
        lacks("Whether the run was meant to resume.", "the submit line, the command or the parent job (slurm_job)")
    ]
    text = "Nothing shows that the run was meant to go on from a checkpoint."
    if signs.has("dependency"):
        text = f"The job depends on another ({signs['dependency']}), but nothing shows that it should load a checkpoint of it."
    elif count(signs, "fresh"):
        text = f'The log says "{signs["fresh_message"]}", which is what a first run says; nothing shows that it should have resumed.'
    return Assessment(
        CODE, "ruled_out", confidence=0.02, counterfactual=text, missing=missing if signs.has("dependency") else []
    )


def _actions() -> list[Claim]:
    return say(
        "Check the checkpoint path and the resume option of the job script: the folder must be the one that the run before saved to.",
        "Make the script stop when it was told to resume and finds no checkpoint.",
        "Submit again from the checkpoint of the run before, if it has not been overwritten.",
    )
