"""Cache policies are found by entry point, and chosen by a text."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from couler.caching.policies.next_use import NextUseDensity
from couler.caching.policy import CachePolicy
from couler.caching.registry import DEFAULT_POLICY, default_policy, policy_names, read_policy
from couler.errors import ConfigurationError, EngineOptionError

POLICY = """
from dataclasses import dataclass
@dataclass(frozen=True)
class Policy:
    most_bytes: int = 1
    def admit(self, key, known): return None
    def on_access(self, key, known): return 0.0
    def worth(self, key, known): return 0.0
"""


FAILS = """
    def __post_init__(self):
        raise {}("cannot be")
"""


@pytest.fixture
def distribution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Generator[Callable[[str, str], None]]:
    """Install a distribution with one policy: its name, and the text of its module."""

    def install(name: str, module: str) -> None:
        info = tmp_path / "theirs-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1\n")
        (info / "entry_points.txt").write_text(
            f"[couler.cache_policies]\n{name} = their_policies:Policy\n"
        )
        (tmp_path / "their_policies.py").write_text(module)
        monkeypatch.syspath_prepend(tmp_path)

    yield install
    sys.modules.pop("their_policies", None)


def test_the_default() -> None:
    assert default_policy() == read_policy(DEFAULT_POLICY) == NextUseDensity()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gdfs", r'^there is no cache policy "gdfs"; installed: .*\. Did you mean "gdsf"\?'),
        ("gdfs{a=1}", r"^the cache policy 'gdfs\{a=1\}', character 1: there is no"),
        ("lru{size=3}", r'character 5: lru has no option "size"; it has none\.'),
        ("couler{alpa=3}", r'has no option "alpa"; it has: alpha, beta\. Did you mean "alpha"\?'),
        ("couler{alpha=much}", r"character 14: alpha must be a number, not 'much'"),
        ("couler{alpha=-1}", r'^cache policy "couler": alpha=-1\.0: must be a number, and not neg'),
        ("couler{beta=inf}", r'^cache policy "couler": beta=inf'),
        ("couler{", r'character 8: the name of an option or "\}" is missing'),
        ("", r"the name of a cache policy is missing"),
    ],
)
def test_what_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(EngineOptionError, match=message):
        read_policy(text)


def test_policy_of_a_third_party(distribution: Callable[[str, str], None]) -> None:
    distribution("theirs", POLICY)
    assert "theirs" in policy_names()
    policy = read_policy("theirs{most_bytes=2KiB}")
    assert isinstance(policy, CachePolicy)
    assert repr(policy) == "Policy(most_bytes=2048)"


@pytest.mark.parametrize(
    ("module", "cause"),
    [
        ("import no_such_thing", "ModuleNotFoundError: No module named 'no_such_thing'"),
        ("Policy = 3", "3 is no class that makes a cache policy"),
        ("class Policy: pass", "Policy lacks members of CachePolicy"),
        (POLICY + "    name = 'other'", 'it calls itself "other"'),
        (
            "raise ImportError('no\\nlibrary')",
            "ImportError: no library. Upgrade or uninstall theirs",
        ),
        ("import sys; sys.exit(7)", "SystemExit: 7"),
        (POLICY + FAILS.format("ValueError"), "ValueError: cannot be. Upgrade or uninstall theirs"),
        (POLICY + FAILS.format("TypeError"), "TypeError: cannot be"),
        (POLICY + FAILS.format("RuntimeError"), "RuntimeError: cannot be"),
        (POLICY + FAILS.format("SystemExit"), "SystemExit: cannot be"),
    ],
)
def test_broken_policy_names_its_distribution(
    distribution: Callable[[str, str], None], module: str, cause: str
) -> None:
    distribution("theirs", module)
    with pytest.raises(ConfigurationError) as caught:
        read_policy("theirs")
    assert 'the plugin "theirs" (their_policies:Policy) of theirs cannot be used: ' in str(
        caught.value
    )
    assert cause in str(caught.value)


REFUSES = """
    def __post_init__(self):
        if self.most_bytes > 1:
            raise {}("too many")
"""


def test_a_value_that_a_policy_refuses_is_no_broken_policy(
    distribution: Callable[[str, str], None],
) -> None:
    distribution("theirs", POLICY + REFUSES.format("ValueError"))
    assert repr(read_policy("theirs{}")) == "Policy(most_bytes=1)"
    with pytest.raises(EngineOptionError, match=r'^cache policy "theirs": too many$'):
        read_policy("theirs{most_bytes=2}")


def test_an_option_that_must_be_given_is_no_broken_policy(
    distribution: Callable[[str, str], None],
) -> None:
    distribution("theirs", POLICY.replace("most_bytes: int = 1", "most_bytes: int"))
    with pytest.raises(EngineOptionError, match=r"missing 1 required .*'most_bytes'"):
        read_policy("theirs")


def test_name_taken_twice(distribution: Callable[[str, str], None]) -> None:
    distribution("lru", POLICY)
    with pytest.raises(ConfigurationError, match='couler and theirs both bring a plugin "lru"'):
        policy_names()
