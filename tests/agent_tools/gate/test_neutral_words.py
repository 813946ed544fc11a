"""A sentence can be false by words that claim nothing by themselves: "then", "from", "by", "went up", "both", "no".

`FALSE` are such sentences over the evidence of shipped examples, `TRUE` are sentences that an honest reader of the same cells
writes. Each was written down before the gate was asked.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools.gate.answer_gate import check_answer
from agent_tools.questions.answer import Answer
from tests.agent_tools.gate.wordkit import Book, book


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The evidence of five jobs."""
    folder: Path = tmp_path_factory.mktemp("words")
    return book(folder)


GOOD = "Job <kill.job_overview.job_id> ended as <kill.job_overview.state>."

FALSE = {
    "a possessive, and what is left out": [
        "Nobody's job but <find_jobs.job_id> ended as <find_jobs.state>.",
        "All but job <find_jobs.job_id> ended well.",
        "The switch's job <find_jobs.job_id> ended as <find_jobs.state>.",
        "The job didn’t run on <kill.job_overview.node_list>.",
        "Every rank but <kill.fatal_signals:1.rank> went on.",
    ],
    "two of a kind, joined by what no row holds": [
        "GPU <wide.gpu_summary.gpu_uuid> put its samples onto GPU <wide.gpu_summary:2.gpu_uuid>.",
        "GPU <wide.gpu_summary:1.gpu_uuid> used GPU <wide.gpu_summary:2.gpu_uuid>.",
        "GPU <wide.gpu_summary.gpu_uuid> is GPU <wide.gpu_summary:3.gpu_uuid>.",
        "Rank <wide.rank_compare.rank> ran as rank <wide.rank_compare:2.rank>.",
        "Rank <wide.rank_compare.rank> took over from rank <wide.rank_compare:1.rank>.",
        "Rank <wide.process_exits.rank> went to rank <wide.process_exits:1.rank>.",
        "Rank <wide.process_exits.rank> sent rank <wide.process_exits:2.rank> the signal <wide.process_exits:2.exit_signal>.",
        "Node <wide.job_nodes.node> ran on node <wide.job_nodes:1.node>.",
        "Node <down.job_nodes.node> came from node <down.job_nodes:1.node>.",
        "Job <find_jobs:4.job_id> started from job <find_jobs:3.job_id>.",
        "Job <find_jobs:1.job_id> ran within job <find_jobs:2.job_id>.",
        "Job <find_jobs:3.job_id> is a run of job <find_jobs:2.job_id>.",
        "User <find_jobs:4.user> ran the job for user <find_jobs:3.user>.",
        "Process <wide.process_exits.pid> started process <wide.process_exits:2.pid>.",
        "Job <find_jobs:4.name> was run with the output of job <find_jobs:3.name>.",
        "Rank <kill.launcher_failures.rank> was listed for rank <kill.launcher_failures:3.rank>.",
    ],
    "order": [
        "Job <find_jobs.job_id> ended at <find_jobs.end_ts> before job <find_jobs:1.job_id> started at <find_jobs:1.start_ts>.",
        "Job <find_jobs.job_id> ran, then job <find_jobs:1.job_id>.",
        "Job <find_jobs:3.job_id> ran first, followed by job <find_jobs:4.job_id>.",
        "Rank <wide.process_exits:3.rank> ended before rank <wide.process_exits.rank>.",
        "Rank <wide.process_exits:2.rank> ended, and then rank <wide.process_exits.rank>.",
        "Rank <wide.process_exits:2.rank> ended at <wide.process_exits:2.end_ts>, then rank <wide.process_exits.rank> at <wide.process_exits.end_ts>.",
        "Node <down.node_failures.node> was <down.node_failures.state> at <down.node_failures.since_ts>, before the start of the job at <down.job_overview.start_ts>.",
        "Step <kill.train_summary.last_step> was reached after the end of the job at <kill.job_overview.end_ts>.",
        "The event <down.job_events:3.event> came, and next <down.job_events:2.event>.",
        "The job had <down.job_events:3.event>, then it had <down.job_events:1.event>.",
        "Attempt <evict.job_attempts:1.attempt> ran before attempt <evict.job_attempts.attempt>.",
        "The state was <evict.job_attempts:1.state>, then <evict.job_attempts.state>.",
        "The run went from step <kill.loss_curve:3.first_step> to step <kill.loss_curve.first_step>.",
        "The loss went from <kill.train_summary.last_loss> to <kill.train_summary.first_loss>.",
        "The job ended at <kill.job_overview.end_ts> and then started at <kill.job_overview.start_ts>.",
        "Signal <kill.fatal_signals.signal_ts> came after the end of the job at <kill.job_overview.end_ts>.",
        "The preemption of <evict.requeue_history.event_ts> came after the end of the run at <evict.job_attempts:1.end_ts>.",
    ],
    "beginnings beside an end": [
        "Job <kill.job_overview.job_id> began as <kill.job_overview.state>.",
        "Job <kill.job_overview.job_id> started in state <kill.job_overview.state> at <kill.job_overview.start_ts>.",
        "The job is running with the state <nan.job_overview.state>.",
        "Job <find_jobs:1.job_id> runs on in state <find_jobs:1.state>.",
        "Job <find_jobs:4.job_id> was <find_jobs:4.state> from <find_jobs:4.start_ts> on.",
        "Attempt <evict.job_attempts.attempt> began <evict.job_attempts.state>.",
        "Job <find_jobs:4.job_id> is still running.",
        "Job <down.job_overview.job_id> is now in its run until <down.job_overview.end_ts>.",
    ],
    "negation and quantity": [
        "No step was reached: <kill.train_summary.last_step>.",
        "There were no reports: <kill.train_summary.reports>.",
        "The job had no GPUs: <kill.job_overview.gpus>.",
        "None of the points is finite: <kill.loss_shape.finite_points>.",
        "All ranks ended by signal <kill.fatal_signals:1.signal>.",
        "Every rank was ended by <kill.fatal_signals:1.signal_name>.",
        "Only rank <kill.fatal_signals.rank> was ended by <kill.fatal_signals.signal_name>.",
        "Both ranks, <wide.process_exits.rank> and <wide.process_exits:2.rank>, ended by signal <wide.process_exits.exit_signal>.",
        "Most of the steps were reached: <kill.train_summary.done>.",
        "The run reached step <kill.train_summary.total_steps>.",
        "The run ended at step <kill.train_summary.total_steps>.",
        "Both nodes, <down.job_nodes.node> and <down.job_nodes:1.node>, were <down.node_failures.state>.",
        "Each of the jobs <find_jobs.job_id> and <find_jobs:1.job_id> ended as <find_jobs.state>.",
        "Node <down.node_failures.node> alone was in the job: <down.job_overview.node_count>.",
        "Neither rank <wide.process_exits.rank> nor rank <wide.process_exits:1.rank> ran on <wide.process_exits.node>.",
    ],
    "causes that nothing connects": [
        "Job <find_jobs:4.job_id> was stopped by <find_jobs:4.user>.",
        "Job <find_jobs:4.job_id> was ended by user <find_jobs:4.user>.",
        "Rank <wide.process_exits:2.rank> was ended by rank <wide.process_exits:3.rank>.",
        "Rank <wide.rank_compare.rank> is <wide.rank_compare.behind> behind, so it ended by signal <wide.rank_compare.exit_signal>.",
        "Rank <wide.rank_compare.rank> had <wide.rank_compare.launches> launches, hence the signal <wide.rank_compare.exit_signal>.",
        "The run <kill.job_overview.name> failed because <down.node_failures.node> was <down.node_failures.state>.",
        "Signal <kill.fatal_signals.signal> led to signal <kill.fatal_signals:1.signal>.",
        "Rank <kill.fatal_signals:1.rank> ended because rank <kill.fatal_signals.rank> was ended by <kill.fatal_signals.signal_name>.",
        "The <wide.gpu_events.event> on <wide.gpu_events.gpu_uuid> led to the end of rank <wide.fatal_signals:1.rank>.",
        "The job was <evict.job_attempts:1.state> because <evict.job_attempts.attempt> was <evict.job_attempts.state>.",
        "The time limit of <kill.job_overview.time_limit_s> stopped the job.",
        "Through node <kill.fatal_signals:1.host> rank <kill.fatal_signals:1.rank> ended.",
    ],
    "roles": [
        "Rank <wide.process_exits.rank> sent signal <wide.process_exits.exit_signal> to <wide.process_exits.signal_sender>.",
        "<wide.process_exits.signal_sender> got signal <wide.process_exits.exit_signal> from rank <wide.process_exits.rank>.",
        "Rank <kill.fatal_signals:1.rank> got signal <kill.fatal_signals:1.signal> from <kill.fatal_signals:1.host>.",
        "Rank <wide.rank_compare:2.rank> is behind rank <wide.rank_compare.rank> by <wide.rank_compare.behind>.",
        "Rank <wide.rank_compare:2.rank> is <wide.rank_compare:2.behind> behind rank <wide.rank_compare.rank>.",
    ],
    "measures under other words": [
        "The loss went up from <kill.train_summary.first_loss> to <kill.train_summary.last_loss>.",
        "The loss went on up to <kill.train_summary.last_loss> from <kill.train_summary.first_loss>.",
        "The last loss was <kill.loss_curve.loss>.",
        "The first loss was <kill.loss_curve:3.loss>.",
        "The highest loss was <kill.train_summary.min_loss>.",
        "Ranks <wide.rank_compare:2.rank> and <wide.rank_compare:3.rank> differ: <wide.rank_compare:2.completed> and <wide.rank_compare:3.completed> completed.",
        "Ranks <wide.process_exits.rank> and <wide.process_exits:2.rank> (<wide.process_exits.comm> and <wide.process_exits:2.comm>) ended by the same signal: <wide.process_exits.exit_signal> and <wide.process_exits:2.exit_signal>.",
        "The job ran for <kill.job_overview.time_limit_s>.",
        "The job took <kill.job_overview.wait_s>.",
        "The job started after <kill.job_overview.elapsed_s>.",
        "The job ended after <kill.job_overview.wait_s>.",
        "The job started at <kill.train_summary.first_ts>.",
        "Job <down.job_overview.job_id> started at <down.node_failures.since_ts>.",
        "The loss doubled from <kill.train_summary.first_loss> to <kill.train_summary.last_loss>.",
        "The loss halved from <nan.loss_shape.first_loss> to <nan.loss_shape.last_loss>.",
        "The GPU with the highest temperature is <wide.gpu_summary.gpu_uuid>, at <wide.gpu_summary.temp_max_c>.",
        "The job certainly reached step <kill.train_summary.last_step> of <kill.train_summary.last_step>.",
        "Rank <wide.rank_compare.rank> had <wide.rank_compare.launches> launches per second.",
        "The last job to start was <find_jobs:4.job_id>.",
    ],
    "more of them, written after the first were mended": [
        "Rank <kill.launcher_failures.rank> handed its work to rank <kill.launcher_failures:1.rank>.",
        "GPU <wide.gpu_summary:3.gpu_uuid> ran its samples on GPU <wide.gpu_summary.gpu_uuid>.",
        "Job <find_jobs:4.job_id>, on <find_jobs:4.node_list>, used job <find_jobs:3.job_id>.",
        "Node <wide.job_nodes.node> took the ranks of node <wide.job_nodes:1.node>.",
        "User <find_jobs.user> began the job of <find_jobs:1.user>.",
        "Rank <wide.process_exits.rank> ended with rank <wide.process_exits:3.rank> in it.",
        "Process <wide.process_exits:1.pid> is within process <wide.process_exits.pid>.",
        "Job <find_jobs:2.job_id> made job <find_jobs:3.job_id> start.",
        "Attempt <evict.job_attempts:1.attempt> ended at <evict.job_attempts:1.end_ts>, then attempt <evict.job_attempts.attempt> at <evict.job_attempts.end_ts>.",
        "Job <find_jobs.job_id> started before job <find_jobs:4.job_id>.",
        "Job <find_jobs:4.job_id> started after job <find_jobs:3.job_id>.",
        "The loss was <kill.loss_curve:2.loss>, later <kill.loss_curve.loss>.",
        "After step <kill.loss_curve:3.first_step> came step <kill.loss_curve:1.first_step>.",
        "The throttle event at <wide.gpu_events.event_ts> came after the job ended at <wide.job_overview.end_ts>.",
        "Message <down.slurm_messages:3.message> came first, then <down.slurm_messages.message>.",
        "Node <down.node_failures.node> went <down.node_failures.state> before the run started at <down.job_overview.start_ts>.",
        "The state at the beginning was <evict.job_attempts.state>.",
        "Job <find_jobs:5.job_id> started with <find_jobs:5.state>.",
        "The job goes on: <kill.job_overview.state>.",
        "Job <kill.job_overview.job_id> has not ended: <kill.job_overview.end_ts>.",
        "The job made no step, <kill.job_overview.restarts> restarts and <kill.train_summary.last_step> as its last step.",
        "The job used no GPU and had <kill.job_overview.restarts> restarts.",
        "Rank <kill.fatal_signals:1.rank> has no signal: <kill.run_ending.errors> errors.",
        "Half the steps were reached: <kill.train_summary.done>.",
        "All of the <nan.train_summary.reports> reports have a NaN gradient: <nan.train_summary.nan_grads>.",
        "Only <down.job_nodes.node> was in the job: <down.job_overview.node_list>.",
        "Each rank ended by signal <wide.process_exits.exit_signal>.",
        "Node <wide.process_exits:2.node> stopped rank <wide.process_exits:2.rank> by signal <wide.process_exits:2.exit_signal>.",
        "Because of its <wide.gpu_summary:2.temp_max_c> GPU <wide.gpu_summary:2.gpu_uuid> ended the job.",
        "The end of job <find_jobs:4.job_id> follows from the <nan.loss_shape.last_loss> of its loss.",
        "The job was put down by <find_jobs:1.user>.",
        "Rank <wide.process_exits:2.rank> got its signal <wide.process_exits:2.exit_signal> from rank <wide.process_exits.rank>.",
        "Signal <wide.process_exits.exit_signal> was sent to <wide.process_exits.signal_sender> by rank <wide.process_exits.rank>.",
        "<wide.process_exits.signal_sender> was sent signal <wide.process_exits.exit_signal> by rank <wide.process_exits.rank>.",
        "Rank <wide.rank_compare:1.rank> is behind rank <wide.rank_compare.rank>: <wide.rank_compare:1.behind>.",
        "The gradient norm went up from <kill.loss_curve.grad_norm> to <kill.loss_curve:3.grad_norm>.",
        "The learning rate fell to <kill.loss_curve:3.learning_rate> from <kill.loss_curve.learning_rate>.",
        "The first job to end was <find_jobs.job_id>, at <find_jobs.end_ts>.",
        "GPU <wide.gpu_summary.gpu_uuid> had the most memory in use: <wide.gpu_summary.peak_gib>.",
        "The last event of the job was <down.job_events.event>.",
        "The job waited for <kill.job_overview.elapsed_s>.",
        "The run lasted <kill.job_overview.time_limit_min>.",
        "Training went to step <down.train_summary.total_steps>.",
        "The training ended at <down.train_summary.first_ts>.",
        "The job held <kill.job_overview.memory_gib> of GPU memory.",
        "Rank <wide.rank_compare.rank> was idle for <wide.rank_compare.sync_s>.",
        "The job's loss is <kill.train_summary.max_loss> at its end.",
    ],
}  # fmt: skip

TRUE = {
    "whose word it is, and a contrast": [
        "Slurm's state of the job is <kill.job_overview.state>, after <kill.job_overview.elapsed_s>.",
        "Slurm’s state of the job is <kill.job_overview.state>.",
        "The job's state is <kill.job_overview.state>, although step <kill.train_summary.last_step> had been reached.",
        "The job ran for <kill.job_overview.elapsed_s>, and the log's last step is <kill.train_summary.last_step>.",
    ],
    "one row": [
        "Job <kill.job_overview.job_id> of user <kill.job_overview.user> failed on <kill.job_overview.node_list> after <kill.job_overview.elapsed_s>.",
        "Slurm recorded the state <kill.job_overview.state> with exit code <kill.job_overview.exit_code>.",
        "The job ran in partition <nan.job_overview.partition> on <nan.job_overview.node_list> with <nan.job_overview.gpus> GPU.",
        "Job <down.job_overview.job_id> ran on <down.job_overview.node_count> nodes: <down.job_overview.node_list>.",
        "The job waited <kill.job_overview.wait_s> before it started.",
        "It was submitted at <kill.job_overview.submit_ts> and started at <kill.job_overview.start_ts>.",
        "The job started at <down.job_overview.start_ts> and ended at <down.job_overview.end_ts>.",
        "Its time limit was <kill.job_overview.time_limit_s>; it ran for <kill.job_overview.elapsed_s>.",
        "Rank <kill.fatal_signals:1.rank> on <kill.fatal_signals:1.host> was ended by signal <kill.fatal_signals:1.signal> (<kill.fatal_signals:1.signal_name>).",
        "Rank <wide.process_exits:2.rank> on <wide.process_exits:2.node> ended by signal <wide.process_exits:2.exit_signal>.",
        "Rank <wide.process_exits.rank> got signal <wide.process_exits.exit_signal> from <wide.process_exits.signal_sender>.",
        "<wide.process_exits.signal_sender> sent signal <wide.process_exits.exit_signal> to rank <wide.process_exits.rank>.",
        "Rank <wide.process_exits.rank> was ended by signal <wide.process_exits.exit_signal>, sent by <wide.process_exits.signal_sender>.",
        "Node <down.node_failures.node> was <down.node_failures.state> from <down.node_failures.since_ts> with the reason <down.node_failures.reason>.",
        "Training reached step <kill.train_summary.last_step> of <kill.train_summary.total_steps>.",
        "GPU <wide.gpu_summary:3.gpu_uuid> of <wide.gpu_summary:3.node> reached <wide.gpu_summary:3.temp_max_c>.",
        "The event <wide.gpu_events.event> (<wide.gpu_events.message>) was recorded on <wide.gpu_events.gpu_uuid> at <wide.gpu_events.event_ts>.",
        "Rank <wide.rank_compare.rank> is <wide.rank_compare.behind> collectives behind the furthest rank.",
        "Job <find_jobs:4.job_id> is a run of <find_jobs:4.name> by user <find_jobs:4.user>.",
        "Job <find_jobs:4.job_id> belongs to user <find_jobs:4.user>.",
        "The job used <kill.job_overview.limit_used> of its time limit.",
    ],
    "several rows": [
        "Ranks <kill.fatal_signals.all_ranks> were ended by <kill.fatal_signals.signal_name> and rank <kill.fatal_signals:1.rank> by <kill.fatal_signals:1.signal_name>.",
        "The launcher recorded rank <kill.launcher_failures:3.rank> with exit code <kill.launcher_failures:3.exit_code> and rank <kill.launcher_failures.rank> with exit code <kill.launcher_failures.exit_code>.",
        "Rank <wide.rank_compare.rank> ran on <wide.rank_compare.node> and rank <wide.rank_compare:2.rank> on <wide.rank_compare:2.node>.",
        "Ranks <wide.rank_compare.rank> and <wide.rank_compare:1.rank> ran on <wide.rank_compare.node>.",
        "Rank <wide.rank_compare.rank> launched <wide.rank_compare.launches> kernels; rank <wide.rank_compare:2.rank> launched <wide.rank_compare:2.launches>.",
        "Rank <wide.rank_compare.rank> completed <wide.rank_compare.completed> collectives and rank <wide.rank_compare:2.rank> completed <wide.rank_compare:2.completed>.",
        "Jobs <find_jobs:2.job_id> and <find_jobs:3.job_id> are of user <find_jobs:2.user>.",
        "Jobs <find_jobs:2.job_id> and <find_jobs:3.job_id> both belong to <find_jobs:2.user>, <find_jobs:3.user>.",
        "Job <find_jobs:4.job_id> ended as <find_jobs:4.state>, job <find_jobs:1.job_id> as <find_jobs:1.state>.",
        "Both ranks, <wide.process_exits.rank> and <wide.process_exits:1.rank>, ended by signal <wide.process_exits.exit_signal> and <wide.process_exits:1.exit_signal>.",
        "Ranks <wide.process_exits.rank> and <wide.process_exits:1.rank> ended by the same signal: <wide.process_exits.exit_signal> and <wide.process_exits:1.exit_signal>.",
        "Ranks <wide.rank_compare.rank> and <wide.rank_compare:2.rank> differ: <wide.rank_compare.completed> and <wide.rank_compare:2.completed> completed.",
        "Attempt <evict.job_attempts.attempt> ended as <evict.job_attempts.state> and attempt <evict.job_attempts:1.attempt> as <evict.job_attempts:1.state>.",
    ],
    "order": [
        "Job <find_jobs:1.job_id> ended at <find_jobs:1.end_ts> before job <find_jobs.job_id> started at <find_jobs.start_ts>.",
        "Job <find_jobs:1.job_id> ran before job <find_jobs.job_id>.",
        "Rank <wide.process_exits.rank> ended at <wide.process_exits.end_ts>, then rank <wide.process_exits:2.rank> at <wide.process_exits:2.end_ts>.",
        "Rank <wide.process_exits.rank> ended before rank <wide.process_exits:2.rank>.",
        "Rank <wide.process_exits:2.rank> ended at <wide.process_exits:2.end_ts>, after rank <wide.process_exits.rank> at <wide.process_exits.end_ts>.",
        "Attempt <evict.job_attempts.attempt> ended as <evict.job_attempts.state>, then attempt <evict.job_attempts:1.attempt> started at <evict.job_attempts:1.start_ts>.",
        "The state was <evict.job_attempts.state>, then <evict.job_attempts:1.state>.",
        "The event <down.job_events:2.event> came at <down.job_events:2.event_ts>, then <down.job_events:3.event> at <down.job_events:3.event_ts>.",
        "The last report was at <kill.train_summary.last_ts>, before the end of the job at <kill.job_overview.end_ts>.",
        "The loss went from <kill.train_summary.first_loss> to <kill.train_summary.last_loss>.",
        "The loss was <kill.loss_curve.loss> at step <kill.loss_curve.first_step>, then <kill.loss_curve:3.loss> at step <kill.loss_curve:3.first_step>.",
        "The run went from step <kill.train_summary.first_step> to step <kill.train_summary.last_step>.",
        "The throttle event at <wide.gpu_events.event_ts> was before the end of the job at <wide.job_overview.end_ts>.",
        "The job was preempted at <evict.requeue_history.event_ts> and the last attempt started at <evict.requeue_history.last_start_ts>.",
    ],
    "negation and quantity": [
        "No preemption was recorded: <kill.run_ending.preemptions>.",
        "The log has no time limits: <kill.run_ending.time_limits>.",
        "No restarts were recorded: <kill.job_overview.restarts>.",
        "There were no saves: <kill.save_pace.saves>.",
        "None of the losses is NaN: <kill.train_summary.nan_losses>.",
        "<nan.loss_shape.bad_points> of <nan.loss_shape.points> points are not finite.",
        "<nan.train_summary.nan_grads> of <nan.train_summary.reports> reports have a NaN gradient.",
        "Slurm counts <evict.requeue_history.restarts> restart.",
        "<down.node_failures.bad_nodes> of the <down.node_failures.job_nodes> nodes was in trouble.",
        "Rank <kill.fatal_signals:1.rank> was the only rank ended by <kill.fatal_signals:1.signal_name>: <kill.fatal_signals:1.ranks>.",
    ],
    "causes that are found": [
        "The job ended because node <down.node_failures.node> was <down.node_failures.state>.",
        "The node <down.run_ending.stop_host> was lost under the job: <down.run_ending.stop_message>.",
        "The job was preempted: <evict.requeue_history.preempted_attempts> of <evict.requeue_history.attempts> attempts.",
        "Rank <wide.fatal_signals:1.rank> on <wide.fatal_signals:1.host> was ended by <wide.fatal_signals:1.signal_name>.",
        "srun sent SIGTERM: <wide.fatal_signals.sender>, signal <wide.fatal_signals.signal_name>.",
    ],
    "measures": [
        "The loss fell from <kill.train_summary.first_loss> to <kill.train_summary.last_loss>.",
        "The loss went down from <kill.train_summary.first_loss> to <kill.train_summary.last_loss>.",
        "The loss rose from <nan.loss_shape.first_loss> to <nan.loss_shape.last_loss>.",
        "The loss went up from <nan.loss_shape.first_loss> to <nan.loss_shape.last_loss>.",
        "The first loss was <kill.train_summary.first_loss> and the last <kill.train_summary.last_loss>.",
        "The highest loss was <kill.loss_shape.highest_loss> at step <kill.loss_shape.highest_step>.",
        "The lowest loss was <kill.train_summary.min_loss>.",
        "Rank <wide.rank_compare.rank> completed the fewest collectives: <wide.rank_compare.completed>.",
        "Rank <wide.rank_compare.rank> completed fewer collectives (<wide.rank_compare.completed>) than rank <wide.rank_compare:2.rank> (<wide.rank_compare:2.completed>).",
        "GPU <wide.gpu_summary:3.gpu_uuid> had the highest temperature, <wide.gpu_summary:3.temp_max_c>.",
        "GPU <wide.gpu_summary:2.gpu_uuid> drew less power (<wide.gpu_summary:2.power_mean_w>) than GPU <wide.gpu_summary.gpu_uuid> (<wide.gpu_summary.power_mean_w>).",
        "The last job to start was <find_jobs.job_id> at <find_jobs.start_ts>.",
        "Rank <wide.rank_compare.rank> spent <wide.rank_compare.sync_s> in synchronising calls, the least of all.",
        "The job ended after <kill.job_overview.elapsed_s>.",
        "The job took <wide.job_overview.elapsed_s>.",
        "Its last loss was <kill.loss_curve:3.loss> at step <kill.loss_curve:3.first_step>.",
        "The learning rate was <kill.loss_curve.learning_rate> at step <kill.loss_curve.first_step>.",
        "The gradient norm was <kill.loss_curve.grad_norm> at step <kill.loss_curve.first_step> and <kill.loss_curve:3.grad_norm> at step <kill.loss_curve:3.first_step>.",
    ],
    "more of them": [
        "User <find_jobs:4.user> ran jobs <find_jobs:4.job_id> and <find_jobs:1.job_id>.",
        "Job <find_jobs:4.job_id> ended after <find_jobs:4.elapsed_s> as <find_jobs:4.state>, and job <find_jobs:3.job_id> after <find_jobs:3.elapsed_s> as <find_jobs:3.state>.",
        "Job <find_jobs:3.job_id> of <find_jobs:3.user> ran on <find_jobs:3.node_list> from <find_jobs:3.start_ts> to <find_jobs:3.end_ts>.",
        "The first job to start was <find_jobs:5.job_id>, at <find_jobs:5.start_ts>.",
        "GPU <wide.gpu_summary:3.gpu_uuid> (<wide.gpu_summary:3.temp_max_c>) was hotter than GPU <wide.gpu_summary:2.gpu_uuid> (<wide.gpu_summary:2.temp_max_c>).",
        "GPU <wide.gpu_summary:2.gpu_uuid> on <wide.gpu_summary:2.node> drew <wide.gpu_summary:2.power_mean_w>, the least power of the GPUs.",
        "Node <wide.job_nodes.node> had ranks <wide.process_exits.rank> and <wide.process_exits:1.rank>; node <wide.job_nodes:1.node> had ranks <wide.process_exits:2.rank> and <wide.process_exits:3.rank>.",
        "Rank <wide.rank_compare.rank> is <wide.rank_compare.behind> collectives behind rank <wide.rank_compare:2.rank>.",
        "Rank <wide.rank_compare.rank> had <wide.rank_compare.launches_of_median> of the median rank's launches.",
        "Ranks <wide.process_exits.rank>, <wide.process_exits:1.rank> and <wide.process_exits:3.rank> ended by signal <wide.process_exits.exit_signal>, <wide.process_exits:1.exit_signal> and <wide.process_exits:3.exit_signal>.",
        "Rank <wide.process_exits.rank> was the first to end, at <wide.process_exits.end_ts>.",
        "The job ended at <wide.job_overview.end_ts>; the first process had ended at <wide.process_exits.end_ts>.",
        "The job ran for <wide.job_overview.elapsed_s> on <wide.job_overview.node_count> nodes with <wide.job_overview.gpus> GPUs.",
        "Exit code <kill.job_overview.exit_code> was recorded for job <kill.job_overview.job_id>.",
        "The log's last report is step <kill.train_summary.last_step> at <kill.train_summary.last_ts>.",
        "The message <down.slurm_messages.message> was printed at <down.slurm_messages.message_ts>.",
        "srun reported <down.slurm_messages.message> at line <down.slurm_messages.line_no> of <down.slurm_messages.file>.",
        "Node <down.node_failures.node> went <down.node_failures.state> at <down.node_failures.since_ts>, after the last report at <down.train_summary.last_ts>.",
        "Job <down.job_overview.job_id> ended as <down.job_overview.state> at <down.job_overview.end_ts>, and node <down.node_failures.node> was <down.node_failures.state> from <down.node_failures.since_ts>.",
        "<down.node_failures.bad_nodes> of <down.node_failures.job_nodes> nodes was bad.",
        "The job was requeued: attempt <evict.job_attempts.attempt> ended at <evict.job_attempts.end_ts>, attempt <evict.job_attempts:1.attempt> started at <evict.job_attempts:1.start_ts>.",
        "Attempt <evict.job_attempts:1.attempt> resumed from step <evict.checkpoints.step>.",
        "The loss fell from <evict.loss_shape.first_loss> to <evict.loss_shape.last_loss>.",
        "The loss rose from <nan.loss_curve.loss> to <nan.loss_curve:3.loss> and was <nan.loss_shape.highest_loss> at its highest.",
        "The gradient norm fell from <kill.loss_curve.grad_norm> to <kill.loss_curve:3.grad_norm>.",
        "The gradient norm went down from <kill.loss_curve.grad_norm> to <kill.loss_curve:3.grad_norm>.",
        "Loss <kill.loss_curve.loss> was reported at step <kill.loss_curve.first_step>, before loss <kill.loss_curve:3.loss> at step <kill.loss_curve:3.first_step>.",
        "The last loss reported was <kill.loss_curve:3.loss>.",
        "No node failure was recorded: <kill.run_ending.node_failures>.",
        "The run had no NaN losses: <kill.train_summary.nan_losses>.",
        "No GPU was idle: the idle share of <wide.gpu_summary.gpu_uuid> is <wide.gpu_summary.idle_share>.",
        "The job reached <kill.train_summary.done> of its steps.",
        "Job <find_jobs:3.job_id> is over: <find_jobs:3.state> at <find_jobs:3.end_ts>.",
        "Training ran to step <down.train_summary.last_step> of <down.train_summary.total_steps>.",
        "The job started at <evict.job_attempts.start_ts> and was <evict.job_attempts.state> at <evict.job_attempts.end_ts>.",
        "Rank <kill.fatal_signals:1.rank> was killed by <kill.fatal_signals:1.signal_name> on <kill.fatal_signals:1.host>.",
        "Job <down.job_overview.job_id> failed because <down.node_failures.node> was <down.node_failures.state>: <down.node_failures.reason>.",
        "Ranks <wide.rank_compare:2.rank> to <wide.rank_compare:3.rank> ran on <wide.rank_compare:2.node>.",
        "Rank <wide.process_exits:2.rank> on <wide.process_exits:2.node> ended by signal <wide.process_exits:2.exit_signal> at <wide.process_exits:2.end_ts>, rank <wide.process_exits.rank> on <wide.process_exits.node> by signal <wide.process_exits.exit_signal> at <wide.process_exits.end_ts>.",
    ],
}  # fmt: skip


@pytest.mark.parametrize("text", [t for texts in FALSE.values() for t in texts])
def test_a_false_sentence_in_neutral_words_is_no_observation(text: str, held: Book):
    """Refused as the answer, and among what was seen refused or told as a hypothesis."""
    said = held.said(text)
    assert not check_answer(Answer(short=said), held.ledger, held.found).ok
    seen = Answer.model_validate({"short": held.said(GOOD), "shows": [{"text": said}]})
    report = check_answer(seen, held.ledger, held.found)
    assert not report.ok or [c.status for c in report.answer.implies] == ["hypothesis"]


@pytest.mark.parametrize("text", [t for texts in TRUE.values() for t in texts])
def test_an_honest_sentence_passes(text: str, held: Book):
    """As the answer, and as what was seen."""
    said = held.said(text)
    seen = Answer.model_validate({"short": said, "shows": [{"text": said}]})
    report = check_answer(seen, held.ledger, held.found)
    assert report.ok, report.problems
    assert [c.text for c in report.answer.shows] == [report.answer.short]


def test_a_reference_that_leads_nowhere_is_told_beside_a_denial(held: Book):
    text = "No step was made by [[E1.nothing]], which never ended as [[E9999.state]]."
    problems = check_answer(Answer(short=text), held.ledger, held.found).problems
    assert any("no column 'nothing'" in p for p in problems)
    assert any("no evidence 'E9999'" in p for p in problems)
