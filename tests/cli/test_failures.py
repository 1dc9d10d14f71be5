"""`couler failures`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from couler.failures import PATTERNS

DOCS = Path(__file__).parents[2] / "docs"
GENERATED = (
    "<!-- Below is what `couler failures ls --format markdown` prints; do not edit it. -->\n"
)


def test_list_has_every_row(couler: Callable) -> None:
    told = couler("failures", "ls")
    assert told.code == 0
    names = [line.split()[0] for line in told.out.splitlines()[1:]]
    assert sorted(names) == sorted(pattern.name for pattern in PATTERNS)


def test_list_as_json(couler: Callable) -> None:
    report = couler("failures", "ls", "--format", "json").json
    assert report["schema_version"] == 1
    by_name = {one["name"]: one for one in report["failures"]}
    assert list(by_name) == [pattern.name for pattern in PATTERNS]
    assert by_name["TooManyRequestsErr"]["backoff"] == {
        "first_s": 5,
        "factor": 2,
        "cap_s": 120,
        "tries": 8,
    }
    assert by_name["OOMKilledErr"]["backoff"] is None


def test_a_message_is_explained(couler: Callable) -> None:
    told = couler("failures", "explain", "main: OOMKilled (exit code 137)")
    assert told.code == 0
    assert told.out.startswith("OOMKilledErr: ")
    assert told.out.endswith("\nkubernetes: main: OOMKilled (exit code 137)\n")


def test_a_log_is_explained_from_standard_input() -> None:
    log = (
        b"epoch 1\n\xff\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "couler.cli", "failures", "explain", "-"],
        input=log,
        capture_output=True,
        check=True,
    )
    assert done.stdout.startswith(b"CudaOutOfMemoryErr: ")


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("--http-status", "429"), "TooManyRequestsErr"),
        (("--exit-code", "143"), "TerminatedErr"),
        (("--reason", "NodeLost"), "NodeLostErr"),
    ],
)
def test_what_is_known_besides_counts(
    couler: Callable, arguments: tuple[str, str], name: str
) -> None:
    report = couler("failures", "explain", "failed", *arguments, "--format", "json").json
    assert report["failure"]["name"] == name
    assert report["failure"]["line"] == "failed"


def test_what_is_not_recognised_ends_with_1(couler: Callable) -> None:
    told = couler("failures", "explain", "ValueError: no such column")
    assert (told.code, told.out) == (1, "")
    assert "none of the failures that are recognised" in told.err
    report = couler("failures", "explain", "ValueError", "--format", "json")
    assert report.code == 1
    assert report.json["failure"] is None


@pytest.mark.golden
@pytest.mark.checkout
def test_page_of_failures_is_generated(couler: Callable, golden: Callable) -> None:
    page = DOCS / "failures.md"
    prose = page.read_text(encoding="utf-8").partition(GENERATED)[0]
    golden(page, prose + GENERATED + "\n" + couler("failures", "ls", "--format", "markdown").out)
