"""Why an engine of simulations ends, in its own words and in those of the runtime below it, and what merely resembles them."""

import pytest

from collector.parsers.base import parse_text
from collector.parsers.engine_errors import NAMES, EngineErrors

BLOCK = "-------------------------------------------------------\nProgram:     gmx mdrun, version 2024.1\nSource file: src/gromacs/domdec/domdec.cpp (line 2200)\n\n"


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        (BLOCK + "Fatal error:\nThere is no domain decomposition for 20 ranks that is compatible with the\nbox and a cell size of 1.2 nm\n\nFor more information",
         "EngineError", "There is no domain decomposition for 20 ranks that is compatible with the box and a cell size of 1.2 nm"),
        (BLOCK + "Inconsistency in user input:\nThe group cutoff scheme is gone.\n\nFor more information", "EngineError", "The group cutoff scheme is gone."),
        ("Fatal error:\nToo many LINCS warnings (1001)\nFor more information and tips", "EngineError", "Too many LINCS warnings (1001)"),
        ("Fatal error:\nstopped short of its end", "EngineError", "stopped short of its end"),
        ("Error in user input:\nInvalid command-line options\n\nFor more", "EngineError", "Invalid command-line options"),
        ("| " + "EEEEEEE  RRRRRR   RRRRRR" + "   OOO |\n|          |\n|   The grid is not\n|   positive.   |\n|   ---->  I REFUSE TO CONTINUE WITH THIS SICK JOB ... BYE!!! <----  |\n",
         "EngineError", "The grid is not positive."),
        ("|     ---->  I REFUSE TO CONTINUE WITH THIS SICK JOB ... BYE!!! <----    |", "EngineError", "I REFUSE TO CONTINUE WITH THIS SICK JOB ... BYE!!!"),
        ("|     internal error in: pot_mix.F  at line: 77     |", "EngineError", "internal error in: pot_mix.F  at line: 77"),
        (" ZBRENT: fatal error in bracketing", "EngineError", "ZBRENT: fatal error in bracketing"),
        ("ERROR: Lost atoms: original 2000 current 1987 (src/thermo.cpp:481)", "EngineError", "Lost atoms: original 2000 current 1987"),
        ("ERROR on proc 3: Bond atoms missing (../ntopo_bond_all.cpp:59)", "EngineError", "Bond atoms missing"),
        ("------------- Processor 0 Exiting: Called CmiAbort ------------\nReason: FATAL ERROR: UNABLE TO OPEN .xsc FILE\n", "EngineError", "UNABLE TO OPEN .xsc FILE"),
        ("Accelerator Fatal Error: call to cuLaunchKernel returned error 719: Launch failed\n File: a.f90", "DeviceCallFailed",
         "call to cuLaunchKernel returned error 719: Launch failed"),
        ("AdaptiveCpp has caught the following unhandled asynchronous errors:\nfrom /b/cuda_queue.cpp:80 @ submit_memcpy(): cuda_queue: cudaMemcpyAsync() failed (error code = CUDA:1)\n",
         "DeviceCallFailed", "cuda_queue: cudaMemcpyAsync() failed (error code = CUDA:1)"),
        ("CUDA Error:\n    File:       force/nep.cu\n    Line:       90\n    Error code: 98\n    Error text: invalid device function\n", "DeviceCallFailed",
         "invalid device function"),
        ("ERROR: cuInit failed with error:  34 /build/src/offload.c 57", "DeviceCallFailed", "cuInit failed with error:  34 /build/src/offload.c 57"),
        (":0:/build/hipamd/src/hip_platform.cpp:110 : 3010171 us: \nCannot retrieve Static function, error: 218\nAborted", "DeviceCallFailed",
         "Cannot retrieve Static function, error: 218"),
        (":0:hip_fatbin.cpp:61 : 99 us: [pid:7 tid:0x7f] Cannot find Function, error: 98", "DeviceCallFailed", "Cannot find Function, error: 98"),
    ],
)  # fmt: skip
def test_the_reason_is_one_fatal_row(text: str, name: str, message: str) -> None:
    (row,) = parse_text(EngineErrors(), text)
    assert (row.kind, row.name, row.severity, row.message) == ("exception", name, "fatal", message)
    assert name in NAMES


@pytest.mark.parametrize(
    "text",
    [
        "ERROR: could not reach the tracker (client.cpp:44)",  # any program's logger prints so, and goes on
        "WARNING: Lost atoms: original 2000 current 1987 (src/thermo.cpp:481)",
        "Fatal error: none so far",
        "Fatal error:\n\nstep 3",
        "Feature not implemented:\nsparse gradients, dense ones are used",
        "Assertion failed:\nretrying",
        "CUDA Error:\nretrying the launch\n    Error text: none",
        "Called CmiAbort in a comment\nReason: none",
        "Source file: notes.md\nAssertions hold",
        "| EEEEEEE  RRRRRR   RRRRRR |\n|  only letters so far  |\nand on it goes",
        "internal error in: the queue, retrying",
        "failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected",  # TensorFlow goes on without
        "ERROR: upload failed with error: 34",
        ":3:hip_platform.cpp:110 : 99 us: Cannot find Function, error: 98",  # a trace
        ":0:hip_platform.cpp:110 : 99 us: \nstep 3",
    ],
)
def test_what_resembles_it_gives_nothing(text: str) -> None:
    assert not parse_text(EngineErrors(), text)
