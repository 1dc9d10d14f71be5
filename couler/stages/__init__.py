"""The stages of a workflow: `Workflow -> Plan -> Artifact -> Run`."""

from couler.stages.artifacts import compile as compile
from couler.stages.artifacts import judge as judge
from couler.stages.artifacts import show as show
from couler.stages.checks import diagnose as diagnose
from couler.stages.overrides import Override as Override
from couler.stages.plan_page import picture_plan as picture_plan
from couler.stages.planning import SCHEMA_VERSION as SCHEMA_VERSION
from couler.stages.planning import Plan as Plan
from couler.stages.planning import plan as plan
from couler.stages.running import PlannedStep as PlannedStep
from couler.stages.running import RunEvent as RunEvent
from couler.stages.running import RunResult as RunResult
from couler.stages.running import cancel as cancel
from couler.stages.running import plan_retry as plan_retry
from couler.stages.running import plan_run as plan_run
from couler.stages.running import retry as retry
from couler.stages.running import run as run
from couler.stages.scheduling import schedule as schedule
from couler.stages.submitting import prepare_restart as prepare_restart
from couler.stages.submitting import submit as submit
from couler.stages.submitting import submit_again as submit_again
from couler.stages.workflows import AnyWorkflow as AnyWorkflow
from couler.stages.workflows import ProgramWorkflow as ProgramWorkflow

__all__ = [
    "SCHEMA_VERSION",
    "AnyWorkflow",
    "Plan",
    "PlannedStep",
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
