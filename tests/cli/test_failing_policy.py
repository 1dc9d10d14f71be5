"""A policy that somebody else wrote, and that fails when it is asked."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
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


Install = Callable[[str, str], None]


@pytest.fixture
def install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install the distribution `guessing` with one policy: its name, and the text of its module."""

    def install(name: str, module: str) -> None:
        information = folder / "installed" / "guessing-1.0.dist-info"
        information.mkdir(parents=True)
        (information / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: guessing\nVersion: 1.0\n"
        )
        (information / "entry_points.txt").write_text(
            f"[couler.cache_policies]\n{name} = couler_guessing:Guess\n"
        )
        (folder / "installed" / "couler_guessing.py").write_text(module)
        monkeypatch.syspath_prepend(str(folder / "installed"))

    (folder / "w.py").write_text(PROGRAM)
    yield install
    sys.modules.pop("couler_guessing", None)


@pytest.fixture
def program(install: Install) -> str:
    install("guess", POLICY)
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


@pytest.mark.parametrize("words", [("gc",), ("gc", "--dry-run"), ("ls", "--worth")])
def test_what_judges_entries_between_runs_ends_with_it(
    couler: Callable, program: str, words: tuple[str, ...]
) -> None:
    """Nothing is under way, so nothing is lost by waiting until the policy is mended."""
    assert couler("run", program, "-j", "1").code == 0
    told = couler("cache", *words, "--cache-budget", "700", "--cache-policy", "guess")
    assert (told.code, told.out) == (3, "")
    assert "the cache policy Guess: worth failed for " in told.err
    assert len(told.err.splitlines()) == 1
    stats = couler("cache", "stats", "--format", "json").json
    assert (stats["entries"], stats["evicted"], stats["garbage"]) == (2, 0, 0)


def test_what_fits_its_budget_asks_no_policy(couler: Callable, program: str) -> None:
    assert couler("run", program, "-j", "1").code == 0
    assert couler("cache", "gc", "--cache-budget", "9kB", "--cache-policy", "guess").code == 0


ENDS = POLICY.replace('return {}["guess"]', "raise SystemExit(7)")
SAYS_MORE = POLICY.replace('return {}["guess"]', r'raise RuntimeError("boom\n  second line")')


INIT_FAILS = (
    POLICY
    + """
    def __post_init__(self):
        raise ValueError("cannot\\n be")
"""
)


@pytest.mark.parametrize(
    ("name", "module", "cause"),
    [
        ("lru", POLICY, 'couler and guessing both bring a plugin "lru"'),
        ("guess", "import no_such_module", "of guessing cannot be used: ModuleNotFoundError: "),
        ("guess", INIT_FAILS, "of guessing cannot be used: ValueError: cannot be. Upgrade or uni"),
    ],
)
@pytest.mark.parametrize(
    "words",
    [
        ("run", "w.py", "--cache-budget", "2kB", "--cache-policy"),
        ("cache", "ls", "--worth", "--cache-policy"),
        ("cache", "gc", "--cache-policy"),
        ("cache", "sync", "prod", "--policy"),
    ],
)
def test_a_policy_that_cannot_be_used_is_a_matter_of_what_is_installed(
    couler: Callable, install: Install, words: tuple[str, ...], name: str, module: str, cause: str
) -> None:
    install(name, module)
    told = couler(*words, *((name,) if words[-1].endswith("policy") else ()))
    assert (told.code, told.out) == (3, "")
    assert cause in told.err
    assert len(told.err.splitlines()) == 1
