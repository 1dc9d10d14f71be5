"""What a description is decomposed into: modules of one task each, and what is around them."""

from __future__ import annotations

import ast
import json
import keyword
import re
import typing as t

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

Task: t.TypeAlias = t.Literal[
    "data-loading",
    "data-validation",
    "preprocessing",
    "feature-engineering",
    "splitting",
    "model-application",
    "training",
    "tuning",
    "evaluation",
    "comparison",
    "selection",
    "prediction",
    "reporting",
    "deployment",
    "notification",
    "control",
    "other",
]

TASKS: tuple[str, ...] = t.get_args(Task)
"""The predefined types of tasks."""

_NAME = re.compile(r"[a-z][a-z0-9_]*")


class _Answer(BaseModel):
    """What a model answers: nothing beside the fields, so that what it means is not lost."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PlannedParameter(_Answer):
    """A parameter of the workflow."""

    name: str
    default: str = Field(description='The default as JSON, such as 3 or "svm"')

    @field_validator("name")
    @classmethod
    def _is_identifier(cls, name: str) -> str:
        return _identifier(name)

    @field_validator("default")
    @classmethod
    def _is_json(cls, default: str) -> str:
        try:
            json.loads(default, parse_constant=_refuse_constant)
        except ValueError as error:
            raise ValueError(f"{default!r} is not JSON; a text needs its quotes") from error
        return default

    @property
    def value(self) -> t.Any:
        """The default as a value."""
        return json.loads(self.default)


class ModulePlan(_Answer):
    """A part of the workflow with one task."""

    name: str = Field(description="In snake_case, unique")
    task: Task
    description: str = Field(description="What it does, with all details that the text gives")
    reads: tuple[str, ...] = Field(description="Names of earlier modules whose results it reads")

    @field_validator("name")
    @classmethod
    def _is_identifier(cls, name: str) -> str:
        return _identifier(name)


class Decomposition(_Answer):
    """A description in modules, in an order in which each reads from earlier ones."""

    reasoning: str = Field(description="Think step by step: which tasks does the text name?")
    workflow_name: str
    parameters: tuple[PlannedParameter, ...]
    schedule: str
    settings: str = Field(description='Such as: timeout="2h", max_parallel=4')
    modules: tuple[ModulePlan, ...] = Field(min_length=1, max_length=40)

    @field_validator("workflow_name")
    @classmethod
    def _is_name(cls, name: str) -> str:
        if not re.fullmatch(r"[a-z][a-z0-9-]{0,52}", name) or name.endswith("-"):
            raise ValueError(f"{name!r} is no name in kebab-case of at most 53 characters")
        return name

    @field_validator("settings")
    @classmethod
    def _are_arguments(cls, settings: str) -> str:
        try:
            call = ast.parse(f"Workflow({settings}\n)", mode="eval").body
        except (SyntaxError, ValueError) as error:
            raise ValueError(f"{settings!r} are no arguments of Python: {error}") from error
        if not isinstance(call, ast.Call) or call.args or not all(one.arg for one in call.keywords):
            raise ValueError(f"{settings!r} must be arguments with names, such as timeout='2h'")
        return ", ".join(map(ast.unparse, call.keywords))

    @model_validator(mode="after")
    def _is_ordered(self) -> Decomposition:
        known: set[str] = set()
        for module in self.modules:
            if module.name in known:
                raise ValueError(f"two modules are called {module.name!r}")
            for name in module.reads:
                if name not in known:
                    raise ValueError(f"{module.name!r} reads {name!r}, which is no earlier module")
            known.add(module.name)
        names = [parameter.name for parameter in self.parameters]
        if len(set(names)) < len(names):
            raise ValueError("two parameters have the same name")
        if self.schedule and "schedule" in self.setting_names:
            raise ValueError("the schedule is stated twice: leave it out of the settings")
        twice = sorted({*names} & self.setting_names)
        if twice:
            raise ValueError(f"{twice[0]!r} is both a setting and a parameter")
        return self

    @property
    def setting_names(self) -> frozenset[str]:
        """The names of the settings."""
        call = ast.parse(f"Workflow({self.settings})", mode="eval").body
        assert isinstance(call, ast.Call), "it was checked when it was set"
        return frozenset(one.arg or "" for one in call.keywords)


class ModuleCode(_Answer):
    """The code of a module."""

    explanation: str = Field(description="In one or two sentences")
    definitions: str = Field(
        description="Functions with @couler.step, and dataclasses or NamedTuples that they use"
    )
    wiring: str = Field(
        description="Statements for the body of the with block of the workflow, not indented"
    )


def _refuse_constant(name: str) -> t.NoReturn:
    raise ValueError(f"{name} is none of JSON")


def _identifier(name: str) -> str:
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise ValueError(f"{name!r} is no name in snake_case that Python allows")
    return name
