"""`couler passes`: what is installed, with options, defaults and what the docstrings say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from couler.optimizers import pipeline
from tests.support import pass_samples

pytestmark = pytest.mark.usefixtures("samples")


def test_list(couler: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "_DEFAULT_PASSES", ("reverse-steps",))
    told = couler("passes")
    lines = {line.split()[0]: line.split(None, 1)[1] for line in told.out.splitlines()}
    assert lines["pass"].split() == ["options", "from", "what", "it", "does"]
    assert set(pass_samples.ENTRY_POINTS) - {"reverse-steps"} <= set(lines)
    assert lines["tag-steps"].split(None, 3) == [
        *("key,", "values", "pass-samples"),
        "Put a label on every step of the outermost scope.",
    ]
    assert lines["reverse-steps*"].split() == [
        *("pass-samples", "Write", "the", "steps", "in", "the", "opposite", "order.")
    ]


def test_one(couler: Callable) -> None:
    told = couler("passes", "tag-steps")
    assert (told.code, told.err) == (0, "")
    assert told.out.splitlines() == [
        "tag-steps, of pass-samples",
        "Put a label on every step of the outermost scope.",
        "",
        "key: a text; default tag",
        "    Name of the label.",
        "",
        "values: a list [...] of a text; default [yes]",
        "    Its value, or several values that are joined.",
    ]


def test_every_type_is_told_in_words(couler: Callable) -> None:
    [told] = couler("passes", "take-all-options", "--format", "json").json["passes"]
    assert told["summary"] == "Take options of each type."
    types = {one["name"]: (one["type"], one["default"]) for one in told["options"]}
    assert "Callable" in types.pop("function")[0]
    assert types == {
        "count": ("a whole number", "1"),
        "share": ("a number", "0.5"),
        "is_loud": ("true or false", "false"),
        "max_bytes": ("a size such as 1MiB or none", "none"),
        "method": ("dfs or levels", "levels"),
        "label": ("a text or none", "none"),
        "either": ("a whole number or a text", "0"),
        "names": ("a list [...] of a text", "[]"),
        "pair": ("a list [...] of a whole number", "[1, 1.0]"),
        "sizes_bytes": ("a list [...] of a size such as 1MiB", "[]"),
    }


def test_unknown_pass(couler: Callable) -> None:
    told = couler("passes", "tag-step")
    assert (told.code, told.out) == (2, "")
    assert 'Did you mean "tag-steps"?' in told.err


def test_broken_plugin_hides_no_other(
    couler: Callable, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    information = folder / "broken" / "bad-1.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: bad\nVersion: 1\n")
    (information / "entry_points.txt").write_text("[couler.passes]\nbad = no_such_module:Bad\n")
    monkeypatch.syspath_prepend(folder / "broken")
    told = couler("passes")
    assert told.code == 3
    assert "tag-steps" in told.out
    assert "error: the plugin " in told.err
    assert '"bad" (no_such_module:Bad) of bad cannot be used' in told.err
