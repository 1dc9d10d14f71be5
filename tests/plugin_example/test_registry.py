"""Plugins that are twice there or broken are errors that name their distribution."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from couler.backends import backend_names, get_backend
from couler.backends.base import Backend
from couler.errors import ConfigurationError, EngineOptionError
from couler.ir.features import Feature
from couler.optimizers.base import Pass
from couler.optimizers.pipeline import pass_names, read_pass

ENGINE = """
class Engine:
    name = "{name}"
    profiles = ("{name}",)
    formats = ("yaml",)
    def capabilities(self, target): return {{}}
    def check(self, workflow, target): return iter(())
    def compile(self, workflow, target, *, format="yaml"): raise NotImplementedError
"""

PASS = """
from dataclasses import dataclass
@dataclass(frozen=True)
class Fold:
    name = "fold"
    depth: int = 1
    def run(self, workflow, context): return workflow
"""


@pytest.fixture
def distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Callable[..., None]]:
    """Install a distribution: its name, a module's text, and its entry points by group."""

    def install(name: str, module: str, **groups: str) -> None:
        folder = tmp_path / name
        info = folder / f"{name.replace('-', '_')}-1.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        lines = [f"[couler.{group}]\n{entries}\n" for group, entries in groups.items()]
        (info / "entry_points.txt").write_text("\n".join(lines))
        (folder / f"{name.replace('-', '_')}_module.py").write_text(module)
        monkeypatch.syspath_prepend(folder)
        modules.append(f"{name.replace('-', '_')}_module")

    modules: list[str] = []
    yield install
    for module in modules:
        sys.modules.pop(module, None)


def test_built_in_engines_are_found_like_all_others() -> None:
    assert {"argo", "local"} <= set(backend_names())
    for name in backend_names():
        backend = get_backend(name)
        assert isinstance(backend, Backend)
        assert backend.name == name


def test_engine_of_a_plugin(distribution: Callable) -> None:
    distribution("mine", ENGINE.format(name="mine"), backends="mine = mine_module:Engine")
    assert "mine" in backend_names()
    assert get_backend("mine").profiles == ("mine",)


def test_unknown_engine_names_the_nearest() -> None:
    with pytest.raises(EngineOptionError, match=r'no engine "arg".*Did you mean "argo"'):
        get_backend("arg")


def test_name_taken_twice(distribution: Callable) -> None:
    distribution("mine", ENGINE.format(name="argo"), backends="argo = mine_module:Engine")
    with pytest.raises(ConfigurationError) as caught:
        backend_names()
    assert str(caught.value).startswith('couler and mine both bring a plugin "argo"')
    assert "(couler.backends.argo:ArgoBackend, mine_module:Engine)" in str(caught.value)


@pytest.mark.parametrize(
    ("module", "entry", "cause"),
    [
        ("import no_such_thing", "bad_module:Engine", "ModuleNotFoundError: No module named 'no_s"),
        ("1/0", "bad_module:Engine", "ZeroDivisionError: division by zero"),
        ("def f(:", "bad_module:Engine", "SyntaxError"),
        ("", "bad_module:Engine", "AttributeError"),
        ("", "no_such_module:Engine", "ModuleNotFoundError"),
        ("Engine = 3", "bad_module:Engine", "3 is no class"),
        ("class Engine: name = 'bad'", "bad_module:Engine", "lacks members of Backend"),
        (ENGINE.format(name="good"), "bad_module:Engine", 'it calls itself "good"'),
    ],
)
def test_broken_engine_names_distribution_and_cause(
    distribution: Callable, module: str, entry: str, cause: str
) -> None:
    distribution("bad", module, backends=f"bad = {entry}")
    assert "bad" in backend_names()
    assert get_backend("local").name == "local"
    with pytest.raises(ConfigurationError) as caught:
        get_backend("bad")
    message = str(caught.value)
    assert f'the plugin "bad" ({entry}) of bad cannot be used: ' in message
    assert cause in message


def test_pass_of_a_plugin_with_options(distribution: Callable) -> None:
    distribution("folding", PASS, passes="fold = folding_module:Fold")
    assert "fold" in pass_names()
    assert isinstance(read_pass("fold{depth=3}"), Pass)
    assert read_pass("fold{depth=3}").depth == 3
    with pytest.raises(EngineOptionError, match=r'fold has no option "width"'):
        read_pass("fold{width=3}")
    with pytest.raises(EngineOptionError, match=r'no pass "flod".*Did you mean "fold"'):
        read_pass("flod")


def test_broken_pass(distribution: Callable) -> None:
    distribution("bad", "class Fold: name = 'fold'", passes="fold = bad_module:Fold")
    with pytest.raises(ConfigurationError, match="of bad cannot be used: Fold lacks members"):
        read_pass("fold")


def test_pass_whose_annotations_cannot_be_read(distribution: Callable) -> None:
    module = PASS.replace("depth: int", "depth: 'NotImported'")
    distribution("folding", module, passes="fold = folding_module:Fold")
    with pytest.raises(ConfigurationError, match=r"the type of an option is not known: .*NotImpo"):
        read_pass("fold{depth=3}")
    assert isinstance(read_pass("fold"), Pass)


def test_every_engine_declares_every_feature() -> None:
    from couler.backends.base import Target

    for name in backend_names():
        backend = get_backend(name)
        for profile in backend.profiles:
            declared = backend.capabilities(Target(profile=profile))
            assert set(declared) == set(Feature), name
