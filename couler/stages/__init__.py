"""The stages of a workflow: `Workflow -> Plan -> Artifact -> Run`; each is loaded at first use."""

import typing as _t
from importlib import import_module as _import_module

if _t.TYPE_CHECKING:
    from couler.stages.artifacts import compile, judge, show
    from couler.stages.checks import AnyWorkflow, Override, ProgramWorkflow, diagnose
    from couler.stages.plan_page import picture_plan
    from couler.stages.planning import SCHEMA_VERSION, Plan, plan
    from couler.stages.running import cancel, plan_retry, plan_run, retry, run
    from couler.stages.submitting import prepare_restart, schedule, submit, submit_again
    from couler.state.results import Event as RunEvent, RunResult

__all__ = [
    "SCHEMA_VERSION",
    "AnyWorkflow",
    "Override",
    "Plan",
    "ProgramWorkflow",
    "RunEvent",
    "RunResult",
    "cancel",
    "compile",
    "diagnose",
    "judge",
    "picture_plan",
    "plan",
    "plan_retry",
    "plan_run",
    "prepare_restart",
    "retry",
    "run",
    "schedule",
    "show",
    "submit",
    "submit_again",
]

_MODULES = {
    "SCHEMA_VERSION": "planning",
    "AnyWorkflow": "checks",
    "Override": "checks",
    "Plan": "planning",
    "ProgramWorkflow": "checks",
    "RunEvent": "running",
    "RunResult": "running",
    "cancel": "running",
    "compile": "artifacts",
    "diagnose": "checks",
    "judge": "artifacts",
    "picture_plan": "plan_page",
    "plan": "planning",
    "plan_retry": "running",
    "plan_run": "running",
    "prepare_restart": "submitting",
    "retry": "running",
    "run": "running",
    "schedule": "submitting",
    "show": "artifacts",
    "submit": "submitting",
    "submit_again": "submitting",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_import_module(f"{__name__}.{_MODULES[name]}"), name)
