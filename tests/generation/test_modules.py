"""What a decomposition has to be."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from couler.generation.modules import Decomposition

SOUND: dict[str, object] = {
    "reasoning": "two tasks",
    "workflow_name": "two-tasks",
    "parameters": [{"name": "depth", "default": "3"}],
    "schedule": "",
    "settings": "",
    "modules": [
        {"name": "load", "task": "data-loading", "description": "", "reads": []},
        {"name": "fit", "task": "training", "description": "", "reads": ["load"]},
    ],
}


def module(name: str, *reads: str) -> dict[str, object]:
    return {"name": name, "task": "other", "description": "", "reads": list(reads)}


def test_a_sound_one_is_taken() -> None:
    plan = Decomposition.model_validate(SOUND)
    assert plan.parameters[0].value == 3


def test_settings_are_written_anew() -> None:
    settings = 'timeout="2h", # two hours\n max_parallel=2,'
    plan = Decomposition.model_validate(SOUND | {"settings": settings})
    assert plan.settings == "timeout='2h', max_parallel=2"


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"modules": []}, "at least 1"),
        ({"modules": [module("a"), module("a")]}, "two modules are called 'a'"),
        ({"modules": [module("a", "b"), module("b")]}, "'a' reads 'b', which is no earlier"),
        ({"modules": [module("class")]}, "no name in snake_case"),
        ({"modules": [module("Load Data")]}, "no name in snake_case"),
        ({"workflow_name": 'x"); import os'}, "no name in kebab-case"),
        ({"parameters": [{"name": "x", "default": "svm"}]}, "is not JSON"),
        ({"parameters": [{"name": "x=1) #", "default": "1"}]}, "no name in snake_case"),
        ({"parameters": [{"name": "x", "default": "1"}] * 2}, "two parameters have the same name"),
        ({"settings": "timeout="}, "are no arguments of Python"),
        ({"settings": "'x'"}, "must be arguments with names"),
        ({"settings": "**options"}, "must be arguments with names"),
        ({"settings": "timeout='2h') as wf: import os #"}, "are no arguments of Python"),
        ({"schedule": "0 3 * * *", "settings": "schedule='0 4 * * *'"}, "stated twice"),
        ({"settings": "depth=4"}, "'depth' is both a setting and a parameter"),
        ({"parameters": [{"name": "x", "default": "NaN"}]}, "is not JSON"),
        ({"more": 1}, "Extra inputs"),
    ],
)
def test_others_are_refused(fields: dict[str, object], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        Decomposition.model_validate(SOUND | fields)
