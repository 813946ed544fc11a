"""Logs that end too early, or in another program's words: what they still decide, and how surely."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_tools.families.logkit import drafted

OPEN = 'Traceback (most recent call last):\n  File "/home/ada/job/run.py", line 30, in <module>\n    main()\n'
TORCH = '  File "/opt/env/lib/python3.11/site-packages/torch/'
WRITE = TORCH + 'serialization.py", line 422, in save\n    with _open_zipfile_writer(f) as w:\n'
RAY = "ray.exceptions.RayTaskError(OutOfMemoryError): ray::Actor.step() (pid=7, ip=10.0.0.2)\n"
NOTEBOOK = (
    f"{'-' * 75}\nRuntimeError                              Traceback (most recent call last)\n"
    "<ipython-input-5-2fbc> in <module>\n----> 1 engine.load_checkpoint('/ckpt')\n\n"
)
GONE = "NCCL error: remote process exited or there was a network error, NCCL version 2.21.5\n"


@pytest.mark.parametrize(
    ("text", "family", "mode"),
    [
        ("+ python run.py\nCommand terminated by signal 11\n3.11user 2.63system 0:01.03elapsed\n", "A2", None),
        (OPEN + WRITE + TORCH + 'serialization.py", line 287, in __init__\n    super().__init__(w)\n'
         "RuntimeError: File out/ckpt_3.pt cannot be opened.\n", "A3", None),
        (OPEN + '  File "/home/ada/job/parts.py", line 4, in build_datasets\n    assert args.samples is None, "x"\n'
         "AssertionError: only counted iterations are supported\n", "A1", "config"),
        (OPEN + TORCH + 'utils/data/_utils/signal_handling.py", line 66, in handler\n    _error_if_any_worker_fails()\n'
         "RuntimeError: DataLoader worker (pid 8", "A2", None),
        ("[INFO] [state_dict_factory.py:85:load] rank: 0 loading checkpoint: /ckpt/global_step70/a_states.pt\n" + NOTEBOOK
         + "/opt/env/lib/python3.8/site-packages/deepspeed/runtime/engine.py in load_checkpoint(self, load_dir)\n   1675 \n", "E2", "load_crash"),
        ("Resuming from runs/step_900.pt\n" + OPEN + '  File "/home/ada/job/run.py", line 12, in resume_run\n'
         '    optimizer.load_state_dict(saved["optimizer"])\n', "E2", "load_crash"),
        ("[08:12:40] src/storage/gpu_device_storage.h:39: Check failed: e == cudaSuccess CUDA: out of memory\n"
         "terminate called after throwing an instance of 'dmlc::Error'\n  what():  CUDA: out of memory\n", "B1", None),
        (OPEN + '  File "/home/ada/job/run.py", line 12, in reload_checkpoint\n    state = torch.load(path)\n'
         + TORCH + 'serialization.py", line 1033, in _legacy_load\n    magic = pickle_module.load(f)\nEOFError: Ran out of input\n', "E2", "load_crash"),
        ("Indexing.hip:1292: indexSelectLargeIndex: Device-side assertion `srcIndex < srcSelectDimSize' failed.\n" * 3, "A1", "code"),
        ("FileExistsError: [Errno 17] File exists: '/scratch/out/train_log.jsonl'\n", "A1", "config"),
        ("iter 144, loss 0.5882, time 1.7\n\n**Killed**\n", "A2", None),
        ("*** An error occurred in MPI_Init_thread\n*** on a NULL communicator\n", "C1", None),
        ("Epoch 3: 26%|##6   | 19/73 [00:07<00:21,  2.6it/s, loss=0.1]\n" + OPEN + "subprocess.CalledProcessError: Command '['py.exe', 'a.py']' "
         "returned non-zero exit status 3221225477.\n14:06:40 INFO     Training has ended.\n", "A2", None),
        ("Train: 7 [ 140/504 ( 28%)]  Loss: 2.8 (2.7)\nERROR: Unexpected segmentation fault encountered in worker.\n" + OPEN, "A2", None),
        (RAY.replace("OutOfMemoryError", "ActorDiedError") + "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n"
         "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker exits unexpectedly.\n", "A2", None),
        ("LAUNCH ERROR 2026-03-28 10:58:36,160 Container failed !!!\nContainer rank 0 status failed cmd ['python', 'fit.py'] code -9 log log/w.0\n", "A2", None),
        ("LAUNCH ERROR 2026-03-28 10:58:36,160 Container failed !!!\nContainer rank 0 status failed cmd ['python', 'fit.py'] code 1 log log/w.0\n", "U0", None),
        ("wandb: Network error (ConnectTimeout), entering retry loop.\nwandb: ERROR Run initialization has timed out after 90.0 sec.\n", "A1", "env"),
        ("  Reading input from scf.in\n  Error in routine read_cards (2):\n  card K_POINT not known\nAbort(1) on node 0 (rank 0 in comm 0): application "
         "called MPI_Abort(MPI_COMM_WORLD, 1) - process 0\nslurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-03-24T12:40:17 ***\nsrun: error: n1: tasks 0-3: Killed\n", "A1", None),
        ("reading mesh\nFATAL - variable not found in present table\nsrun: error: task 0: Exited with exit code 1\n", "A1", None),
        ("Error executing job with overrides: []\nError in call to target 'net.parts.Encoder':\nModuleNotFoundError(\"No module named 'flash'\")\nfull_key: net\n", "A1", "env"),
        (OPEN + "tensorflow.python.framework.errors_impl.UnknownError: Graph execution error:\n\n2 root error(s) found.\n"
         "  (0) UNKNOWN:  FileNotFoundError: [Errno 2] No such file or directory: '/data/train/0001.png'\n", "A1", "data"),
        ("Resume from ckpt_3.pt\n" + OPEN + '  File "/home/ada/job/run.py", line 12, in main\n    optimizer.load_state_dict(checkpoint["optimizer"])\n'
         "KeyError: 'optimizer'\n", "E2", "load_crash"),
        ("Restoring states from the checkpoint path at ckpts/epoch=19.ckpt\n" + OPEN + TORCH.replace("torch/", "pytorch_lightning/")
         + 'trainer/trainer.py", line 1179, in _run\n    self._restore_modules_and_callbacks(ckpt_path)\n', "E2", "load_crash"),
        ("RuntimeError: Stop_waiting response is expected\n", "C1", None),
        (OPEN + TORCH + 'distributed/distributed_c10d.py", line 9, in barrier\n    work = default_pg.barrier(opts=opts)\n'
         "RuntimeError: [ERROR] HCCL error in: ProcessGroupHCCL.cpp:77\n[ERROR] 2025-03-04-05:06:07 (PID:12, Device:1, RankID:1) ERR02200 DIST call failed.\n"
         "EJ0001: 2025-03-04-05:06:07.008.009 Failed to initialize the HCCP process. Reason: Maybe the last training process is running.\n", "C1", None),
        ("EL0004: [PID: 9] 2025-01-02-03:04:05.006.007 Failed to allocate memory.\n", "B1", None),
        ("EI0002: The wait execution of the Notify register times out. Reason: no record from remote rank [3]. tag[AllReduce_1].\n", "C2", None),
        ("ERROR (nnet3-train[5.5]:AllocateNewRegion():cu-allocator.cc:519) Failed to allocate a memory region of 409715264 bytes.  "
         "Memory info: free:390M, used:15670M CUDA error: 'out of memory'\n", "B1", None),
        ("ERROR (apply-cmvn[5.5]:Open():util/kaldi-table-inl.h:106) TableReader: failed to open archive file mfcc/raw.7.ark\n", "A1", "data"),
        ("2023-01-02 03:04:05.678901: F tensorflow/xla/gpu/nvptx_compiler.cc:77] ptxas returned an error during compilation of ptx to sass\n"
         "Aborted (core dumped)\n", "A1", "env"),
        ("NotFoundError (see above for traceback): Key tower/w/Adam not found in checkpoint\n", "E2", "load_crash"),
        ("NotFoundError (see above for traceback): Key tower/Adaptor/w not found in checkpoint\n", "A1", "asset"),
        (OPEN + "tensorflow.python.framework.errors_impl.UnknownError: ncclInitRank failed: unhandled cuda error\n", "C1", None),
        (OPEN + "horovod.common.exceptions.HorovodInternalError: ncclCommInitRank failed: unhandled system error\n", "C1", None),
        ("WARNING:tensorflow:Unresolved object in checkpoint: (root).optimizer.iter\n" * 3, "U0", None),
        ("2019-02-03 04:05:06.789012: W tensorflow/core/framework/op_kernel.cc:1655] OP_REQUIRES failed at save_restore_v2_ops.cc:184 : "
         "Not found: Key head/b not found in checkpoint\n" + OPEN, "A1", "asset"),
        ("Exception: Error converting the state dict. Found unexpected key: \"layers.0.q_norm\".\n", "A1", "asset"),
        ("nvidia-smi failed with status 18\nNo GPUs were found on this host. Exiting.\n", "A1", "env"),
        ("Torch is there\nCUDA built in: False\n\u2717 CUDA not available!\n", "A1", "env"),
        ("CUDA not available!\nusing the CPU\n\u2717 CUDA not available!\nstep 1\n", "U0", None),
        ("run_all.sh: 14: deepspeed: not found\n", "A4", "launch"),
        ("reading\n2026-04-02 10:03:06 - ERROR - no model: lab/net is not a local folder and is not a valid model identifier listed on\n", "A1", "asset"),
        ("step 3/3 loss: 2.1 lr: 0.1\nTraining complete!\nError in the report: list index out of range\n", "E3", None),
        (OPEN + TORCH + 'multiprocessing/reductions.py", line 9, in rebuild_storage_fd\n    fd = df.detach()\n'
         "RuntimeError: received 0 items of ancdata\n", "A1", "env"),
        (OPEN + "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 40.0 GiB for an array with shape (5, 5)\n", "A1", "env"),
    ],
)  # fmt: skip
def test_what_is_there_decides(tmp_path: Path, text: str, family: str, mode: str | None) -> None:
    draft = drafted(text, tmp_path)
    assert draft.family == family and (mode is None or draft.mode == mode), draft.headline


def test_rays_bare_type_of_a_memory_error_is_not_surely_the_cards(tmp_path: Path) -> None:
    draft = drafted(OPEN + RAY + '  File "/job/actor.py", line 12, in step\n    self.backward(batch)\n', tmp_path)
    assert draft.family == "B1" and draft.confidence < 0.7


def test_a_survivors_word_alone_is_no_failed_start(tmp_path: Path) -> None:
    """A peer went away: neither when nor why is known."""
    draft = drafted("[rank5]: Process group watchdog thread terminated with exception: " + GONE, tmp_path)
    assert draft.family != "C1" or draft.confidence < 0.5


@pytest.mark.parametrize(
    ("before", "frame", "family", "mode"),
    [
        ("", '  File "/home/ada/job/my_dataset.py", line 12, in load_rows\n    for row in rows:\n', "A1", "data"),
        ("Epoch: 1, total time: 3.86\nEpoch: 2, total time: 3.74\n", '  File "/home/ada/job/run.py", line 12, in step\n    go()\n', "A3", "code"),
    ],
)  # fmt: skip
def test_a_log_that_ends_inside_a_traceback_is_suspected_and_no_more(
    tmp_path: Path, before: str, frame: str, family: str, mode: str
) -> None:
    draft = drafted(before + OPEN + frame, tmp_path)
    assert (draft.family, draft.mode) == (family, mode), draft.headline
    assert draft.confidence < 0.5 and any("rest of the log" in m.signal for m in draft.cannot_decide)


LOOP = "".join(
    f"[03/04 05:06:{s} d2.utils.events]:  eta: 3:12:10  iter: {s}  total_loss: {40 / s:.3f}  time: 0.5  lr: 2e-05  max_mem: 8123M\n"
    for s in range(19, 139, 20)
)
SAID = "ERROR [03/04 05:07:01 d2.engine.train_loop]: Exception during training:\n"
LIBRARY = '  File "/opt/env/lib/python3.9/site-packages/detectron2/engine/defaults.py", line 496, in run_step\n    self._trainer.run_step()\n'


@pytest.mark.parametrize("end", [SAID, SAID + OPEN.partition("\n")[0], SAID + OPEN.partition("\n")[0] + "\n" + LIBRARY])
def test_a_log_that_is_cut_at_an_exception_is_never_healthy(tmp_path: Path, end: str) -> None:
    draft = drafted(LOOP + end, tmp_path / "a")
    assert (draft.family, draft.confidence < 0.5) == ("A3", True) and "the log ends" in draft.headline
    draft = drafted(end + LIBRARY if end == SAID else end, tmp_path / "b")
    assert draft.family in ("A1", "U0") and (draft.family == "U0" or draft.confidence < 0.5)
    draft = drafted(LOOP + end + "\n" + LOOP.replace("iter: ", "iter: 1"), tmp_path / "c")
    assert draft.family == "G1" and draft.confidence < 0.5, draft.headline


def test_a_cut_traceback_of_a_loop_does_not_tell_whether_steps_came_before(tmp_path: Path) -> None:
    frame = TORCH + 'utils/data/dataloader.py", line 633, in __next__\n    data = self._next_data()\n'
    draft = drafted(OPEN + frame, tmp_path)
    assert draft.family == "U0" and "the log does not show" in draft.headline


def test_an_error_without_anything_before_it_is_no_sure_start_unless_its_text_says_so(tmp_path: Path) -> None:
    frame = '  File "/home/ada/job/parts.py", line 12, in swap\n    return old[new]\n'
    odd = "job.errors.SwapError: the two of them differ\n"
    draft = drafted(frame + odd, tmp_path / "cut")
    assert draft.family == "A1" and draft.confidence < 0.5, "it may have come after days of training"
    assert any("from its beginning" in m.signal for m in draft.cannot_decide)
    assert drafted(odd, tmp_path / "line").confidence < 0.5
    assert drafted(OPEN + frame + odd, tmp_path / "whole").confidence >= 0.6, "a whole traceback, and no step before it"
    told = drafted(frame + "ModuleNotFoundError: No module named 'apex'\n", tmp_path / "told")
    assert (told.family, told.mode) == ("A1", "env") and told.confidence > 0.8


def test_a_cut_traceback_beside_another_sign_is_no_cause(tmp_path: Path) -> None:
    """What else is there explains the end: a request for GPU memory that was refused."""
    draft = drafted(OPEN + "    x()\n\nRuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n" + OPEN, tmp_path)
    assert draft.family == "B1", draft.headline


@pytest.mark.parametrize(
    ("why", "family"),
    [(" DUE TO PREEMPTION", "F2"), (" DUE TO JOB REQUEUE", "F2"), (" DUE TO TIME LIMIT", "F3"), ("", "F4")],
)
@pytest.mark.parametrize(
    "frame",
    ["/home/ada/job/run.py", "/opt/env/lib/python3.13/site-packages/torch/distributed/elastic/agent/server/api.py"],
)
def test_a_log_that_ends_inside_what_slurms_end_made_it_raise_is_slurms(
    tmp_path: Path, why: str, family: str, frame: str
) -> None:
    """The program is told to end, and its traceback is cut off when it is killed."""
    text = "".join(f"Epoch 1, step {n}0, loss: 2.{9 - n}\n" for n in range(1, 5))
    stop = f"slurmstepd: error: *** JOB 77 ON g1 CANCELLED AT 2026-03-25T10:34:07{why} ***\n"
    raised = f'Traceback (most recent call last):\n  File "{frame}", line 908, in wait\n    time.sleep(interval)\n'
    verdict = drafted(text + stop + raised, tmp_path / "after")
    assert verdict.family == family and verdict.confidence >= 0.6
    before = drafted(text + raised + stop, tmp_path / "before")
    assert before.family != "F2" and before.confidence <= verdict.confidence


@pytest.mark.parametrize(
    "text",
    [
        "Worker exit type: INTENDED_SYSTEM_EXIT Worker exit detail: Worker exits because it was idle.\n",
        "The node with node id: ab and address: 10.0.0.1 has been marked dead because the detector has missed heartbeats\n"
        "A worker died or was killed while executing a task. Worker exit type: SYSTEM_ERROR Worker exit detail: gone.\n",
    ],
)
def test_a_worker_of_rays_that_was_told_to_end_or_lost_its_node_was_not_killed(tmp_path: Path, text: str) -> None:
    assert drafted(text, tmp_path).family != "A2"


def test_a_launcher_that_saw_its_child_fail_speaks_against_an_end_in_words(tmp_path: Path) -> None:
    text = "step 10 loss 0.5\nsubprocess.CalledProcessError: Command '['python', 'a.py']' returned non-zero exit status 1.\nTraining has ended.\n"
    assert drafted(text, tmp_path).family != "G1"


def test_a_line_about_failure_in_the_middle_of_the_output_is_no_reason(tmp_path: Path) -> None:
    text = (
        "could not read the cache, building it\n"
        + "built part\n" * 5
        + "srun: error: n1: task 0: Exited with exit code 1\n"
    )
    draft = drafted(text, tmp_path)
    assert draft.family == "U0" or draft.confidence < 0.5


def test_a_key_that_no_saved_run_has_is_no_failed_resume(tmp_path: Path) -> None:
    frame = '  File "/home/ada/job/run.py", line 12, in main\n    width = {}\n'
    for source, key in (('cfg["optimizer"]', "optimizer"), ('checkpoint["vocab_of_mine"]', "vocab_of_mine")):
        draft = drafted(OPEN + frame.format(source) + f"KeyError: '{key}'\n", tmp_path / key)
        assert draft.family == "A1", draft.headline


@pytest.mark.parametrize(
    "text",
    [
        "WARNING (nnet3-train[5.4]:MallocPitch():cu-allocator.cc:374) Allocation of 9 x 9 region failed: freeing some memory and trying again.\n"
        "LOG (nnet3-train[5.4]:PrintStats():nnet-training.cc:305) Average objective function is -0.5697\n",
        "2023-01-02 03:04:05.678901: F external/xla/pjrt/distributed/service.cc:77] Terminating process because the coordinator found another task gone\n",
        "W tensorflow/core/framework/op_kernel.cc:1655] OP_REQUIRES failed at iterator_ops.cc:867 : Out of range: End of sequence\n",
        "the exception: Exception: none so far\nepoch 3 loss 0.2\n",
    ],
)
def test_what_is_tried_again_or_another_ones_end_is_no_crash(tmp_path: Path, text: str) -> None:
    draft = drafted(text, tmp_path)
    assert draft.family not in ("A1", "A3", "B1") or draft.confidence < 0.5, draft.headline


@pytest.mark.parametrize(("extra", "family"), [(" reward {r:.3f} kl {r:.4f}", "G1"), ("", "E1"), (" lr 1e-6", "E1")])
def test_a_loss_beside_rewards_may_rise(tmp_path: Path, extra: str, family: str) -> None:
    """A policy's loss is near zero, and its rise is no divergence; the same figures of another training are one."""
    wave = (0.001, -0.002, 0.0005, -0.0008)
    lines = [
        f"train step {5 * s} loss {0.01 + 0.004 * s + wave[s % 4]:.4f}" + extra.format(r=s / 60) for s in range(60)
    ]
    assert drafted("\n".join(lines), tmp_path).family == family


def test_a_batch_that_fails_in_a_cut_log_may_be_any_batch(tmp_path: Path) -> None:
    """TensorFlow names the function that ran: in Keras' own, no word says how many batches came before."""
    frame = '  File "/opt/env/lib/python3.9/site-packages/tensorflow/python/eager/execute.py", line 58, in quick_execute\n    run(\n'
    said = (
        frame
        + "tensorflow.python.framework.errors_impl.NotFoundError:  pics/7.jpg; No such file or directory\n\t [[{{node ReadFile}}]] [Op:__inference_{}_12]\n"
    )
    trained = drafted(said.replace("_{}_", "_train_function_"), tmp_path / "a")
    other = drafted(said.replace("[Op:__inference_{}_12]", "[Op:ReadFile]"), tmp_path / "b")
    assert (trained.family, trained.mode, trained.confidence < 0.5) == ("A1", "data", True), trained.headline
    assert (other.family, other.confidence > 0.7) == ("A1", True), other.headline


WAITED = "".join(
    f"rank {r}: Waiting in store based barrier to initialize process group for rank: {r}, key: b:1 (world_size=2, worker_count=7, timeout=0:01:00)\n"
    for r in (0, 0, 0)
)
GROUP = '  File "/home/ada/job/run.py", line 12, in main\n    dist.init_process_group(backend="nccl")\n'
BUILD = '  File "/home/ada/job/run.py", line 12, in main\n    model = build(cfg)\n'


def test_a_log_that_ends_in_the_traceback_of_ranks_that_waited_in_vain_is_no_crash_of_the_program(
    tmp_path: Path,
) -> None:
    draft = drafted(WAITED + OPEN + GROUP, tmp_path / "group")
    assert (draft.family, draft.attribution) == ("C1", "undetermined")
    assert drafted(WAITED + OPEN + BUILD, tmp_path / "build").family == "A1"
    assert drafted(OPEN + GROUP, tmp_path / "alone").family == "A1"


CODE = (
    '  File "/home/ada/job/parts.py", line 31, in pick\n    return self.sets[i]\nIndexError: list index out of range\n'
)
LOADER = (
    "    for batch in loader:\n"
    + TORCH
    + 'utils/data/dataloader.py", line 628, in __next__\n    data = self._next_data()\n'
)
TRACKER = (
    TORCH.replace("torch/", "urllib3/")
    + 'connectionpool.py", line 330, in _raise_timeout\n    raise ReadTimeoutError(\n'
    + "urllib3.exceptions.ReadTimeoutError: HTTPSConnectionPool(host='api.wandb.ai', port=443): Read timed out. (read timeout=20)\n"
)
UNREAD = "FileNotFoundError: [Errno 2] No such file or directory: '/data/train/0001.png'\n"
ABORT = "THCudaCheck FAIL file=/torch/THCCachingHostAllocator.cpp line=278 error=77 : an illegal memory access was encountered\nterminate called\n"


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        (CODE, False),
        (OPEN + CODE, True),
        (LOADER + UNREAD, False),
        (TRACKER, False),
        (TRACKER.replace("api.wandb.ai", "huggingface.co"), True),
        (ABORT, False),
        ("building the model\nreading the data\n" + ABORT, True),
    ],
)
def test_a_log_that_begins_inside_a_crash_does_not_tell_when_it_came(text: str, sure: bool, tmp_path: Path) -> None:
    draft = drafted(text, tmp_path)
    assert (draft.family, draft.confidence >= 0.7) == ("A1", sure), draft.headline
    assert sure or any("steps came before" in m.text for m in draft.cannot_decide)


def test_what_cuda_says_of_a_set_up_stands_beside_the_traceback_that_is_cut_off(tmp_path: Path) -> None:
    setup = "W platform_util.cc:199] unable to create StreamExecutor for CUDA:1: CUDA_ERROR_INVALID_DEVICE: invalid device ordinal\n"
    draft = drafted(setup + OPEN + '  File "/home/ada/job/run.py", line 12, in main\n    devices = look()\n', tmp_path)
    assert (draft.family, draft.mode, draft.confidence < 0.5) == ("A1", "env", True), draft.headline
    assert any("Before it the log says" in c.text for c in draft.shows)


LOST_ACTOR = (
    OPEN
    + "ray.exceptions.RayActorError: The actor died unexpectedly before finishing this task.\n\tclass_name: Part\n{}\n"
)
BARS = " 28%|##8       | 17/60 [1:24:14<3:32:31, 296.54s/it]"
PAIR = "host-1:77:91 [5] ibvwrap.c:262 NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out, on dev m:1, curr state INIT, next state RTR\n"
BUSY = "srun: error: Unable to create step for job 7: Job/step already completing or completed\n"


@pytest.mark.parametrize(
    ("text", "family", "sure"),
    [
        (LOST_ACTOR.format("The actor is dead because its node has died. Node Id: 67f"), "F1", True),
        (
            OPEN
            + "ray.exceptions.RayTaskError(WorkerCrashedError): ray::Judge.rate() (pid=7, ip=10.0.0.2, actor_id=7c\n",
            "A2",
            True,
        ),
        (
            "Iter: 24/179  Epoch: 0.6/10.0queue.pl: job failed with status 134, log is in exp/log/train.24.1.log\n",
            "A2",
            True,
        ),
        (BARS + OPEN * 5, "A3", False),  # ranks that print at once; the log ends inside of all of them
        (PAIR, "C1", True),
        (BUSY, "U0", True),  # somebody ended the job, and its script asked for a step yet
    ],
)
def test_the_words_in_which_launchers_and_fabrics_give_up(text: str, family: str, sure: bool, tmp_path: Path) -> None:
    draft = drafted(text, tmp_path)
    assert (draft.family, draft.confidence >= 0.6) == (family, sure), draft.headline


@pytest.mark.parametrize(
    ("last", "mode"),
    [
        ("socket.timeout: timed out\n", "env"),
        ("requests.exceptions.HTTPError: 503 Server Error: Service Unavailable for url: https://a.b/c\n", "env"),
    ],
)
def test_a_service_that_does_not_answer_is_the_environments(last: str, mode: str, tmp_path: Path) -> None:
    assert drafted(OPEN + last, tmp_path).mode == mode


def test_a_crash_whose_text_is_lost_is_not_sure_of_its_class(tmp_path: Path) -> None:
    text = NOTEBOOK + "/home/ada/job/net.py in build(self, width)\n     12 \n"
    told = text + "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x8 and 16x2)\n"
    lost, whole = drafted(text, tmp_path / "lost"), drafted(told, tmp_path / "whole")
    assert (lost.family, lost.confidence <= 0.6) == ("A1", True)
    assert any("exception says" in m.text for m in lost.cannot_decide)
    assert whole.confidence > lost.confidence
