"""A policy that somebody else wrote, and that fails when it is asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

PROGRAM = """
import couler

with couler.Workflow("w"):
    for name in ("one", "two"):
        made = couler.run_container(
            "busybox:1.37", ["echo", name * 600], step_name=name, cache=True,
            profile={"output_bytes": 600},
        )
        couler.run_container("busybox:1.37", ["echo", made.result], step_name=f"read-{name}")
"""

POLICY = """
from dataclasses import dataclass


@dataclass(frozen=True)
class Guess:
    def admit(self, key, known):
        return None

    def on_access(self, key, known):
        return 0.0

    def worth(self, key, known):
        return {}["guess"]
"""


@pytest.fixture
def program(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    information = folder / "installed" / "guessing-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: guessing\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(
        "[couler.cache_policies]\nguess = couler_guessing:Guess\n"
    )
    (folder / "installed" / "couler_guessing.py").write_text(POLICY)
    monkeypatch.syspath_prepend(str(folder / "installed"))
    (folder / "w.py").write_text(PROGRAM)
    return "w.py"


def test_a_run_goes_on_without_it_and_says_so_once(couler: Callable, program: str) -> None:
    budget = ("--cache-budget", "2kB", "--cache-policy", "guess")
    told = couler("run", program, "-j", "1", *budget)
    assert told.code == 0
    warnings = [line for line in told.err.splitlines() if line.startswith("warning")]
    assert len(warnings) == 1
    assert "the cache policy Guess: worth failed for " in warnings[0]
    assert "KeyError: 'guess'. Mend the policy, or choose another one" in warnings[0]
    assert "Traceback" not in told.err


def test_a_simulation_ends_with_it(couler: Callable, program: str) -> None:
    told = couler("cache", "simulate", program, "--cache-size", "700", "--policy", "guess")
    assert told.code == 3
    assert "the cache policy Guess: worth failed for 'one.result'" in told.err
    assert "Traceback" not in told.err
