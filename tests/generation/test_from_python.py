"""`couler.generate` in programs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import couler
from couler.backends.base import Target
from couler.errors import ConfigurationError, EngineOptionError
from tests.fakes.llm import ScriptedServer
from tests.generation.replies import Replies, written

SOUND = """\
import couler

with couler.Workflow("made") as wf:
    a = couler.run_container("alpine:3.20", ["echo", "1"], name="a")
"""


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in set(os.environ):
        if name.startswith(("COULER_LLM", "OPENAI_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    name, answer = written(SOUND)
    with ScriptedServer([{"when": {"prompt": name}, "reply": {"json": answer}}]) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        options = couler.GenerateOptions(targets={"argo": Target()})
        made = couler.generate("Print 1.", options=options)
    assert made.is_verified
    assert "name: a," in made.compile("argo").to_text()
    assert "a  container alpine:3.20" in made.show()


def test_a_model_and_a_folder_are_given(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text('"""Pay invoices."""\nMARK = 1\n')
    model = Replies(written(SOUND))
    made = couler.generate("Pay invoices.", engines=["argo"], model=model, lake=[tmp_path])
    assert made.is_verified
    assert made.log[-1].message == "the workflow is verified for argo"
    assert "MARK = 1" in model.asked[0].messages[0].content


def test_what_is_given_beside_options_goes_before_them() -> None:
    model = Replies(written(SOUND))
    options = couler.GenerateOptions(mode="schema")
    made = couler.generate("x", engines=["argo"], mode="code", options=options, model=model)
    assert made.program == SOUND
    assert made.log[-1].message == "the workflow is verified for argo"
    with pytest.raises(EngineOptionError, match="nosuch"):
        couler.generate("x", engines=["nosuch"], options=options, model=Replies())


def test_without_a_workflow_there_is_nothing_to_compile() -> None:
    model = Replies(written("import os"))
    options = couler.GenerateOptions(max_repairs=0)
    made = couler.generate("Print 1.", model=model, options=options)
    assert not made.is_verified
    with pytest.raises(ValueError, match=r"no workflow came of the description.*CLR603"):
        made.compile("argo")


def test_a_folder_that_is_none_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="is no folder"):
        couler.generate("x", model=Replies(), lake=[tmp_path / "none"])
