"""What a terminal shows is ours: the framework's banner is none of it."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

SCRIPT = """
import asyncio
from agent_tools.questions.investigation import Investigation
from pydantic_ai import Agent
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.messages import ModelResponse, TextPart
asyncio.run(Agent(FunctionModel(lambda m, i: ModelResponse(parts=[TextPart("x")]))).run("?"))
print("asked")
"""


def test_a_run_on_a_terminal_prints_nothing_of_its_own():
    ours, theirs = pty.openpty()
    env = {
        k: v
        for k, v in os.environ.items()
        if k not in ("PYDANTIC_AI_NO_BANNER", "CI", "PYTEST_CURRENT_TEST", "PYTEST_VERSION")
    }
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdin=theirs, stdout=theirs, stderr=theirs, env={**env, "TERM": "xterm"}
    ) as run:
        os.close(theirs)
        said = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            said += piece
        assert run.wait(60) == 0
    os.close(ours)
    assert said.decode().split() == ["asked"]
