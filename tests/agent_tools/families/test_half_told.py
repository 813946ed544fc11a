"""Logs that lost a part: frames without their header, a traceback on one line, a load or a meeting that is cut; and an epoch's end in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_tools.families.test_cut_and_told import OPEN, drafted

FRAMES = (
    '  File "run.py", line 88, in <module>\n    main()\n  File "run.py", line 80, in main\n    trainer.fit()\n'
    '  File "/opt/env/lib/python3.10/site-packages/engine/loop.py", line 12, in run_iter\n    out = self.model(batch)\n'
)
STEP = "06/02 10:11:12 - mmengine - INFO - Iter(train) [  300/9000]  lr: 1.0e-03  eta: 2:00:00  time: 0.70  data_time: 0.02  memory: 900  loss: 0.91\n"
CUT = 'Traceback (most recent call last):\n  File "/opt/env/lib/python3.10/site-packages/graph/sharing.py", line 371, in _client_loop\n    client.update(k, v)\n'
STORE = "[W socket.cpp:601] [c10d] The client socket has failed to connect to [gpu-03]:29500 (errno: 113 - No route to host). "
NO_IPV6 = "[W socket.cpp:601] [c10d] The client socket cannot be initialized to connect to [localhost]:29500 (errno: 97 - Address family not supported by protocol). "
INIT = (
    'Traceback (most recent call last):  File "fit.py", line 6, in <module>    dist.init_process_group(backend="gloo") '
    ' File "/opt/env/lib/python3.10/site-packages/torch/distributed/distributed_c10d.py", line 900, in init_process_group'
)
RESTORING = "Restoring states from the checkpoint path at runs/a/checkpoints/last.ckpt\n"
ENTRY = 'Traceback (most recent call last):\n  File "/opt/env/bin/tune", line 8, in <module>\n    sys.exit(main())\n  File "/opt/env/lib/python3.10/site-packages/absl/app.py", line 25, in _run_main\n    sys.exit(main(argv))\n'
BUILD = '  File "/home/ada/job/run.py", line 20, in train\n    net = create_model(args)\n  File "/home/ada/job/zoo.py", line 30, in create_model\n    net = Net(cfg)\n  File "/home/ada/job/zoo.py", line 9, in biases\n    for m in self.heads:\n'


@pytest.mark.parametrize(
    ("text", "family", "mode"),
    [
        # frames from the program's first line on, with which the log ends
        (STEP + FRAMES, "A3", "code"),
        # the program's own word that an epoch is over, before a traceback that is cut
        ("21:47:02  Finished epoch 1 path 1; writing global state.\n" + CUT, "A3", "code"),
        ("21:47:02  epoch 3 completed\n" + CUT, "A3", "code"),
        # or that a trial of a search is; one that failed at once trained nothing
        ("[I 2026-03-01 10:01:50,908] Trial 0 finished with value: 0.5 and parameters: {'lr': 0.25}.\n" + CUT, "A3", "code"),
        ("[W 2026-03-01 10:01:50,908] Trial 0 failed with parameters: {'lr': 0.25} because of the following error:\n" + CUT, "A1", "code"),
        ("21:47:02  resuming after finished epoch 3\n" + CUT, "A1", "code"),
        ("setting up the clients\n" + CUT, "A1", "code"),
        ("21:47:02  parameters are written at the end of epoch 3\n" + CUT, "A1", "code"),
        # the call by which the ranks meet is the one that the log ends in
        (STORE + INIT, "C1", None),
        (NO_IPV6 + INIT, "A1", "code"),
        # a saved run is being loaded, and nothing says that it was
        (RESTORING + ENTRY, "E2", "load_crash"),
        (RESTORING + "Restored all states from the checkpoint at runs/a/checkpoints/last.ckpt\n" + ENTRY, "A1", "config"),
        ("Loading weights of models/base/model.ckpt\n" + ENTRY, "A1", "config"),
        # `train` is the whole program, and below it a model is built
        (OPEN + BUILD, "A1", "code"),
        (OPEN + BUILD.replace("create_model", "run_epoch"), "U0", None),
        # whose words, and not whose type, tell what is missing
        (OPEN + "ValueError: Root folder of the training images doesn't exists.\n", "A1", "data"),
        (OPEN + "ValueError: the path of annotations does not exist\n", "A1", "data"),
        (OPEN + "ValueError: the path of the schedule must be given\n", "A1", "code"),
        # native code: the level as a word, a number for the error, what it could write of its file
        ("2024-05-06 07:08:09,078 INFO reader.cpp:162 : loading rows\n2024-05-06 07:08:09,329 FATAL launch.cuh:54 : Check failed: "
         "[error == cudaSuccess]  no kernel image is available for execution on the device\n", "A1", "env"),
        ("  0%|     | 12/8000 [00:00<22:27, 23.7it/s]\n[Error] [sim.plugin] PhysX error: Fetching GPU Broadphase failed! 700\n", "A3", "code"),
        ("saving checkpoint to cv/net_epoch0.20.t7\n/opt/torch/bin/luajit: /opt/torch/share/lua/5.1/torch/File.lua:210: write error: wrote 97 blocks "
         "instead of 412 at /tmp/TH/THDiskFile.c:340\nstack traceback:\n\t[C]: in function 'write'\n", "A3", "storage"),
        ("2024-07-08 09:10:11.405019: E ext/core/kernels/xpu_kernel.cc:60] Failed precondition: No visible XPU devices. Check the set-up.\n", "A1", "env"),
    ],
)  # fmt: skip
def test_what_is_left_decides_no_more_than_it_says(text: str, family: str, mode: str | None, tmp_path: Path) -> None:
    draft = drafted(text, tmp_path)
    assert (draft.family, draft.mode) == (family, mode)
    whole = ("images", "path of", "cudaSuccess", "PhysX", "Failed precondition", "File.lua")
    if not any(word in text for word in whole):
        assert draft.confidence < 0.6 or draft.family == "U0"


BAR = "steps:   0%|          | 0/900 [00:00<?, ?it/s]\nepoch 1/9\n"
CHECKED = (
    "Exception raised from checkTimeout at ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:618 (most recent call first):\n"
    "frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x96 (0x7f in /opt/env/lib/libc10.so)\n"
    "/home/ada/run.sh: line 18: 2324239 Aborted                 (core dumped) litgpt pretrain pythia\n"
)
OVER = "10-11-2025 04:50 PM | INFO: Start training from epoch: 61, iter: 6000\n10-11-2025 04:50 PM | INFO: End of training. Time consumed: 0:00:00 \n"


@pytest.mark.parametrize(
    ("text", "family"),
    [
        # the loop's bar stands at its beginning
        (BAR + OPEN + BUILD.replace("create_model", "run_epoch"), "A1"),
        (BAR.replace("0/900 [00:00", "7/900 [00:09") + OPEN + BUILD.replace("create_model", "run_epoch"), "A3"),
        # the watchdog threw, before the shell told of its abort
        (CHECKED, "C2"),
        (CHECKED.partition("\n")[2], "A2"),
        # NCCL's bootstrap was met twice by one rank
        ("gpu-14:18569:18835 [0] bootstrap.cc:131 NCCL WARN Bootstrap Root : rank 1 of 8 ranks has already checked in\n", "C1"),
        # a plan that was reached before it began, and one that took its time
        ("10-11-2025 04:50 PM | INFO: Resuming training from epoch: 61, iter: 6000\n" + OVER, "E3"),
        (OVER.replace("0:00:00", "3:12:44"), "G1"),
        # outputs that are no numbers
        ("ValueError:Network outputs is NAN! Stop Training\n", "E1"),
    ],
)  # fmt: skip
def test_a_word_of_the_tool_itself_decides(text: str, family: str, tmp_path: Path) -> None:
    assert drafted(text, tmp_path).family == family
