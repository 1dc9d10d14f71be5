"""Pauses: for some seconds, or until a person goes on."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from couler.backends.airflow.operators import PYTHON, SENSOR, Operator, short
from couler.backends.airflow.python import Call, Code, Expression, call, value_of
from couler.ir.semantics.wire import encode
from couler.ir.workflow import Output, Step, Suspend

if t.TYPE_CHECKING:
    from couler.backends.airflow.module import Module
    from couler.backends.airflow.tasks import Tasks

_HITL = "airflow.providers.standard.operators.hitl"

LONGEST_WAIT_S = 60
"""How long a pause may hold a process of the worker."""


def pause(step: Step, action: Suspend, module: Module, tasks: Tasks) -> Operator:
    """Return the operator of a pause."""
    if action.seconds is not None:
        defaults = {
            output.name: tasks.as_it_is(encode(output.default, output.type))
            for output in step.outputs
            if output.default is not None
        }
        waiting = _wait(action.seconds, step.timeout_s, defaults or None, module)
        return replace(waiting, fields={**waiting.fields, "doc_md": action.message})
    subject = tasks.as_it_is(action.message or f"Go on with {step.name}?")
    if not step.outputs:
        return approval(subject, module)
    required = [output.name for output in step.outputs if output.default is None]
    any_json = [output.name for output in step.outputs if output.type == "json"]
    fields = {
        "subject": subject,
        "options": ["OK"],  # without them it would go on by itself when its time is over
        "params": {output.name: _asked(output, module) for output in step.outputs},
        "do_xcom_push": False,
        "post_execute": call(module.use("entered"), *required, any_json=any_json or None),
    }
    name = module.take(_HITL, "HITLEntryOperator")
    return Operator(name, fields, time_limit="response_timeout")


def approval(subject: object, module: Module) -> Operator:
    """Return the operator that asks a person whether to go on."""
    fields = {"subject": subject, "fail_on_reject": True, "do_xcom_push": False}
    return Operator(module.take(_HITL, "ApprovalOperator"), fields, time_limit="response_timeout")


def keeps_worker(action: Suspend, limit_s: float | None) -> bool:
    """Return whether a pause holds a process of the worker until it is over."""
    return action.seconds is not None and _time(action.seconds, limit_s) <= LONGEST_WAIT_S


def _time(seconds: float, limit_s: float | None) -> float:
    return seconds if limit_s is None else min(seconds, limit_s)


def _wait(
    seconds: float,
    limit_s: float | None,
    outputs: dict[str, Expression] | None,
    module: Module,
) -> Operator:
    """Return a function that waits, or for longer a sensor that is called when the time is over."""
    limit = None if limit_s is None or limit_s > seconds else short(limit_s)
    time = short(_time(seconds, limit_s))
    if time <= LONGEST_WAIT_S:
        given = {
            "python_callable": Code(module.use("wait")),
            "op_args": [short(seconds)] if outputs is None else [short(seconds), outputs],
        }
        return Operator(module.take(PYTHON, "PythonOperator"), given)
    passed = {"limit_s": limit, "outputs": outputs}
    fields = {
        "python_callable": Code(module.use("has_waited")),
        "op_kwargs": {name: one for name, one in passed.items() if one is not None} or None,
        "mode": "reschedule",
        "poke_interval": time,
    }
    return Operator(module.take(SENSOR, "PythonSensor"), fields, time_limit="")


def _asked(output: Output, module: Module) -> Call:
    """Return what a person is asked for; Airflow wants a value for all before it asks."""
    types = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
    types |= {"list": "array", "dict": "object"}
    kind = types.get(output.type)
    if kind is not None and output.default is None:
        return call(module.take("airflow.sdk", "Param"), Code("None"), type=["null", kind])
    return call(module.take("airflow.sdk", "Param"), value_of(output.default), type=kind)
