"""What ships in inquest/examples: whole bundles, each with an expected verdict, none with a trace of its maker."""

import json
import re
from pathlib import Path

import pytest

from evals.recorder.scenarios import SCENARIOS

EXAMPLES = Path(__file__).parents[3] / "inquest" / "examples"
BUNDLES = sorted(path for path in EXAMPLES.iterdir() if path.is_dir())
EXPECTED = json.loads((EXAMPLES / "expected.json").read_text(encoding="utf-8"))
SLURM = [
    "sacct.txt",
    "sacct.json",
    "scontrol_job.txt",
    "scontrol_node.txt",
    "events.txt",
    "sdiag.txt",
]
FOREIGN = re.compile(r"/(?:work|workspace|builds|runner|root)/|\.pyenv|/var/tmp|/home/(?!mira|dario|wen)\w")


def test_expected_names_each_bundle_and_no_other():
    """A bundle without an expected verdict cannot be scored, and a verdict without a bundle cannot be shown."""
    assert sorted(EXPECTED) == [bundle.name for bundle in BUNDLES]
    assert set(EXPECTED) <= {scenario.name for scenario in SCENARIOS}


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda bundle: bundle.name)
def test_a_bundle_is_whole(bundle: Path):
    """Each bundle has every Slurm output, the subject's accounting row, and stays small."""
    assert sorted(path.name for path in (bundle / "slurm").iterdir()) == sorted(SLURM)
    job = str(EXPECTED[bundle.name]["job"])
    rows = (bundle / "slurm" / "sacct.txt").read_text(encoding="utf-8").splitlines()
    assert any(row.split("|")[0] == job for row in rows)
    assert json.loads((bundle / "slurm" / "sacct.json").read_text(encoding="utf-8"))["jobs"]
    assert sum(path.stat().st_size for path in bundle.rglob("*") if path.is_file()) < 300_000


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda bundle: bundle.name)
def test_a_bundle_says_nothing_of_the_machine_it_was_made_on(bundle: Path):
    """Jobs run in a world of their own, so no path of the host can be seen by them."""
    for path in bundle.rglob("*"):
        if path.is_file():
            found = FOREIGN.search(path.read_text(encoding="utf-8", errors="replace"))
            assert found is None, f"{path.relative_to(EXAMPLES)} names {found.group()}"


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda bundle: bundle.name)
def test_the_facts_that_a_verdict_cites_are_in_the_recording(bundle: Path):
    """A fact that is nowhere in the bundle could only be made up."""
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in bundle.rglob("*") if path.is_file()]
    for fact in EXPECTED[bundle.name]["facts"]:
        assert any(fact in text for text in texts), fact


def test_no_bundle_gives_its_answer_away():
    """The example's name must not be a path in its bundle: names hint at the answer."""
    for bundle in BUNDLES:
        for path in bundle.rglob("*"):
            assert bundle.name not in str(path.relative_to(bundle))
