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
    from couler.state.database import Database, open_database
    from couler.state.home import Home
    from couler.state.journal import Journal
    from couler.state.ownership import Owner, ShownStatus, own_run, owner_of, shown_status
    from couler.state.records import (
        AttemptRecord,
        AttemptStatus,
        CacheDecision,
        DecisionKind,
        RunRecord,
        RunStatus,
        SessionRecord,
        SessionStatus,
        Signal,
        SignalKind,
        StepRecord,
        StepStatus,
    )
    from couler.state.runs import (
        attempts_of,
        begin_session,
        cache_decisions_of,
        create_run,
        delete_run,
        find_run,
        list_runs,
        sessions_of,
        steps_of,
        workflow_of,
    )
    from couler.state.signals import send_signal, take_signals
    from couler.state.source_maps import source_map_of

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
