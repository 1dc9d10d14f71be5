"""Programs of the earlier SDK on this machine: states, and what every step prints."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.stages import diagnose
from tests.support import ancestor_programs
from tests.support.ancestor_programs import outcomes

_ATTEMPT = re.compile(r"^--- attempt \d+ ---\n", re.M)
_MASKED = "***"

ELSEWHERE = {"oss_dataset", "s3_model"}
"""Their files lie in buckets that are not here."""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", sorted(outcomes()))
@pytest.mark.slow
def test_outcome(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "state").mkdir()
    ancestor_programs.set_folder(monkeypatch, tmp_path / "state")
    expected = outcomes()[name]
    given = {
        f"COULER_{kind}_{owner.replace('-', '_')}_{key}": value
        for kind, maps in (("SECRET", expected.secrets), ("CONFIG", expected.config_maps))
        for owner, entries in maps.items()
        for key, value in entries.items()
    }
    result = LocalBackend().run(
        ancestor_programs.load(name).to_ir(),
        options=RunOptions(home=tmp_path / "home", jobs=4),
        environ={**os.environ, **given},
    )
    states = {path: step.status for path, step in result.steps.items()}
    messages = {path: step.message for path, step in result.steps.items() if step.message}
    assert states == expected.states, messages
    assert result.status == expected.status
    for path, told in expected.prints.items():
        log = result.steps[path].log
        assert log is not None, path
        printed = _ATTEMPT.split(log.read_text())
        texts = (told,) if isinstance(told, str) else told
        assert [one.removesuffix("\n") for one in printed] == [
            _masked(text, expected) for text in texts
        ], path


def _masked(text: str, expected: ancestor_programs.Outcome) -> str:
    """Return what a log shows where a step prints a secret."""
    for entries in expected.secrets.values():
        for value in entries.values():
            if len(value) > 3:
                text = text.replace(value, _MASKED)
    return text


def test_what_needs_a_cluster_is_refused_with_its_reasons() -> None:
    rest = set(ancestor_programs.names()) - outcomes().keys() - ELSEWHERE
    found = {
        name: {
            (one.code, one.message.partition(" cannot do ")[2].partition(",")[0])
            for one in diagnose(ancestor_programs.load(name), ["local"])
        }
        for name in rest
    }
    assert found == {
        "training_job": {("CLR301", "job"), ("CLR301", "output-json-path")},
        "volumes": {("CLR301", "volume-claim"), ("CLR301", "volume-new-claim")},
    }
