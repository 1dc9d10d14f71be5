"""What is kept of runs: the metadata database, the folders of runs and who works on them."""

import typing as _t
from importlib import import_module as _import_module

__all__ = [
    "AttemptRecord",
    "AttemptStatus",
    "CacheDecision",
    "Database",
    "DecisionKind",
    "Home",
    "Journal",
    "Owner",
    "RunRecord",
    "RunStatus",
    "SessionRecord",
    "SessionStatus",
    "ShownStatus",
    "Signal",
    "SignalKind",
    "StepRecord",
    "StepStatus",
    "attempts_of",
    "begin_session",
    "cache_decisions_of",
    "create_run",
    "delete_run",
    "find_run",
    "list_runs",
    "open_database",
    "own_run",
    "owner_of",
    "send_signal",
    "sessions_of",
    "shown_status",
    "source_map_of",
    "steps_of",
    "take_signals",
    "workflow_of",
]

if _t.TYPE_CHECKING:
    from couler.state.database import Database as Database
    from couler.state.database import open_database as open_database
    from couler.state.home import Home as Home
    from couler.state.journal import Journal as Journal
    from couler.state.ownership import Owner as Owner
    from couler.state.ownership import ShownStatus as ShownStatus
    from couler.state.ownership import own_run as own_run
    from couler.state.ownership import owner_of as owner_of
    from couler.state.ownership import shown_status as shown_status
    from couler.state.records import AttemptRecord as AttemptRecord
    from couler.state.records import AttemptStatus as AttemptStatus
    from couler.state.records import CacheDecision as CacheDecision
    from couler.state.records import DecisionKind as DecisionKind
    from couler.state.records import RunRecord as RunRecord
    from couler.state.records import RunStatus as RunStatus
    from couler.state.records import SessionRecord as SessionRecord
    from couler.state.records import SessionStatus as SessionStatus
    from couler.state.records import Signal as Signal
    from couler.state.records import SignalKind as SignalKind
    from couler.state.records import StepRecord as StepRecord
    from couler.state.records import StepStatus as StepStatus
    from couler.state.runs import attempts_of as attempts_of
    from couler.state.runs import begin_session as begin_session
    from couler.state.runs import cache_decisions_of as cache_decisions_of
    from couler.state.runs import create_run as create_run
    from couler.state.runs import delete_run as delete_run
    from couler.state.runs import find_run as find_run
    from couler.state.runs import list_runs as list_runs
    from couler.state.runs import sessions_of as sessions_of
    from couler.state.runs import steps_of as steps_of
    from couler.state.runs import workflow_of as workflow_of
    from couler.state.signals import send_signal as send_signal
    from couler.state.signals import take_signals as take_signals
    from couler.state.source_maps import source_map_of as source_map_of

_EXPORTS = {
    "AttemptRecord": "records",
    "AttemptStatus": "records",
    "CacheDecision": "records",
    "Database": "database",
    "DecisionKind": "records",
    "Home": "home",
    "Journal": "journal",
    "Owner": "ownership",
    "RunRecord": "records",
    "RunStatus": "records",
    "SessionRecord": "records",
    "SessionStatus": "records",
    "ShownStatus": "ownership",
    "Signal": "records",
    "SignalKind": "records",
    "StepRecord": "records",
    "StepStatus": "records",
    "attempts_of": "runs",
    "begin_session": "runs",
    "cache_decisions_of": "runs",
    "create_run": "runs",
    "delete_run": "runs",
    "find_run": "runs",
    "list_runs": "runs",
    "open_database": "database",
    "own_run": "ownership",
    "owner_of": "ownership",
    "send_signal": "signals",
    "sessions_of": "runs",
    "shown_status": "ownership",
    "source_map_of": "source_maps",
    "steps_of": "runs",
    "take_signals": "signals",
    "workflow_of": "runs",
}


def __getattr__(name: str) -> object:
    module = _EXPORTS.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(_import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
