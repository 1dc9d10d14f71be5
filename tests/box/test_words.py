"""The tables of names: they name what exists, and no public name is missing by accident."""

from __future__ import annotations

import dataclasses
import enum
import importlib
import inspect

import couler
from couler.box.words import ACTS, BUILTINS, HANDLES, METHODS, MODULES, REFUSED
from couler.dsl import control, handles, loops, own, step, workflow


def test_every_public_name_of_couler_is_allowed_or_refused_with_a_reason() -> None:
    assert (MODULES["couler"] - {"steps", "operations"}) | ACTS.keys() == set(couler.__all__)
    assert not MODULES["couler"] & ACTS.keys()
    assert MODULES["couler"] == MODULES["couler.argo"]


def test_what_may_be_imported_exists_and_is_no_module_of_others() -> None:
    for module, names in MODULES.items():
        found = importlib.import_module(module)
        for name in names:
            assert hasattr(found, name) or importlib.import_module(f"{module}.{name}")
            value = getattr(found, name, None)
            if module.startswith("couler") and inspect.ismodule(value):
                assert value.__name__.startswith("couler."), f"{module}.{name}"


def test_builtins_reach_nothing() -> None:
    refused = {
        *("__import__", "breakpoint", "classmethod", "compile", "delattr", "dir", "eval", "exec"),
        *("format", "getattr", "globals", "hasattr", "help", "input", "locals", "memoryview"),
        *("object", "open", "pow", "property", "setattr", "staticmethod", "super", "type", "vars"),
    }
    assert not refused & BUILTINS


CLASSES = [
    *(workflow.Workflow, workflow.Parameters, workflow.RunFacts, step.TypedStep, step.Partial),
    *(handles.Value, handles.StepHandle, handles.ProcessHandle, handles.OutputHandle),
    *(handles.Expression, control.When, control.GroupBlock, loops.LoopBlock, own.OwnFacts),
]
"""What a program holds while it builds."""


def test_attributes_of_what_programs_hold_are_allowed_or_refused() -> None:
    public = {name for kind in CLASSES for name in dir(kind) if not name.startswith("_")}
    assert public - {"run"} <= HANDLES | METHODS | REFUSED.keys()


def test_nothing_is_allowed_and_refused() -> None:
    assert not (HANDLES | METHODS) & REFUSED.keys()
    assert "run" not in HANDLES | METHODS | REFUSED.keys()


def test_the_function_of_a_step_cannot_be_taken_from_it() -> None:
    made = couler.step(lambda: 1)
    reach = [name for name in {*dir(made), *vars(made)} if callable(getattr(made, name, None))]
    allowed = [name for name in reach if not name.startswith("_") and name not in REFUSED]
    assert sorted(allowed) == ["map", "partial", "with_options"]


def test_members_of_enumerations_can_be_read() -> None:
    kinds = [getattr(couler, name) for name in MODULES["couler"] if name[0].isupper()]
    found = [one for one in kinds if isinstance(one, type) and issubclass(one, enum.Enum)]
    assert found
    assert {member.name for kind in found for member in kind} <= HANDLES


def test_no_field_that_a_program_would_name_is_refused() -> None:
    kinds = [getattr(couler, name) for name in MODULES["couler"] if name[0].isupper()]
    fields = {
        one.name for kind in kinds if dataclasses.is_dataclass(kind)
        for one in dataclasses.fields(kind)
    }  # fmt: skip
    assert fields & REFUSED.keys() <= {"format"}
