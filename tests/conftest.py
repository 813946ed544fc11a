"""What holds for every test: none reaches a model by accident, and none is judged by how fast or from where it is run.

Requests to models are refused, and no key or address of one is in the environment. Generated examples are the same on every
run and machine, and take the time that they take: a busy host made Hypothesis call a test unreliable that merely waited.
Whatever a test is given, its name is short and the same in every process: the workers must agree on the names, or none runs.
Ctrl-C works, also in the background of a script, where a shell lets it be ignored, which every child would inherit.
There are three workers more than cores: one has the tests with a real Slurm, which wait for most of their minutes, and of the others
many wait for a bound that has to pass. With two more, two cores stood still for a sixth of a run.
"""

from __future__ import annotations

import gc
import os
import re
import signal
from collections.abc import Generator

import pydantic_ai.models
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("any host", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any host")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

pydantic_ai.models.ALLOW_MODEL_REQUESTS = False

for _name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "INQUEST_MODEL"):
    os.environ.pop(_name, None)


gc.set_threshold(100_000, 20, 50)  # many short-lived objects, few cycles: collecting took up to a tenth of the time


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    return len(os.sched_getaffinity(0)) + 3


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share something made once for their module go to one worker: each of several would make it again."""
    for item in items:
        shared = item._fixtureinfo.name2fixturedefs if hasattr(item, "_fixtureinfo") else {}
        ours = (d for name in shared for d in shared[name] if d.baseid.endswith(".py"))
        if item.get_closest_marker("xdist_group") is None and any(d.scope != "function" for d in ours):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.split("::", 1)[0]))


@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, object, object]:
    """What failed is remembered without its group: by a name that no test has when it runs alone, all would run again."""
    result = yield
    cache = getattr(session.config, "cache", None)  # none where it was left out
    if cache is not None and not hasattr(session.config, "workerinput"):
        failed: dict[str, bool] = cache.get("cache/lastfailed", {})
        cache.set("cache/lastfailed", {re.sub(r"@[^\]]*$", "", name): True for name in failed})
    return result


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes and long texts are named by their place: a packed file that held the second it was packed in stopped a whole run."""
    return argname if isinstance(val, bytes) or (isinstance(val, str) and len(val) > 120) else None


@pytest.fixture
def anyio_backend() -> str:
    """Tests that are coroutines run on asyncio, as the program does."""
    return "asyncio"


@pytest.fixture
def allow_model_requests():
    """For a test that speaks to a server of its own on this host."""
    with pydantic_ai.models.override_allow_model_requests(True):
        yield
