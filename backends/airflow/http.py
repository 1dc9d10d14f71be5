"""HTTP requests: a function on Airflow's worker, which reads secrets only when it sends them."""

from __future__ import annotations

import base64
import typing as t

from couler.backends.airflow.operators import PYTHON, Operator
from couler.backends.airflow.python import Code, Expression, quoted
from couler.backends.airflow.reading import Read, Scope
from couler.ir.semantics import Kind
from couler.ir.storage import EnvVar
from couler.ir.values import OwnRef, Value
from couler.ir.workflow import Http, Step

if t.TYPE_CHECKING:
    from couler.backends.airflow.module import Module
    from couler.backends.airflow.tasks import Tasks


def request(step: Step, action: Http, scope: Scope, module: Module, tasks: Tasks) -> Operator:
    """Return the operator of a request."""
    headers = {
        one.name: tasks.text_for_worker(one.value, scope)
        for one in action.headers
        if one.value is not None
    }
    entries = {one.name: _entry(one) for one in action.headers if one.value is None}
    body: Expression | None = None
    if action.body_base64 is not None:
        body = Code(_bytes(base64.b64decode(action.body_base64)))
    elif action.body is not None:
        body = tasks.text_for_worker(action.body, scope)
    values = {
        one.name: tasks.read(one.value, one.type, scope)
        for one in step.inputs
        if one.value is not None
    }
    given = {
        "url": tasks.text_for_worker(action.url, scope),
        "method": None if action.method == "GET" else action.method,
        "headers": headers or None,
        "entries": entries or None,
        "read": Code(module.use("read_entry")) if entries else None,
        "body": body,
        "codes": list(action.success_codes) or None,
        "condition": _condition(action, step, scope, module),
        "values": values or None,
        "verify": None if action.verify_tls else False,
        "outputs": [output.name for output in step.outputs] or None,
    }
    return Operator(
        module.take(PYTHON, "PythonOperator"),
        {
            "python_callable": Code(module.use("request")),
            "op_kwargs": {key: value for key, value in given.items() if value is not None},
        },
    )


def _entry(header: EnvVar) -> list[object]:
    """Return where a header's text lies, as `read_entry` takes it."""
    if header.secret is not None:
        found: list[object] = ["secret", header.secret.secret, header.secret.key]
        return [*found, True] if header.secret.optional else found
    assert header.config is not None, "a header without a value names an entry"
    found = ["config_map", header.config.config_map, header.config.key]
    return [*found, True] if header.config.optional else found


def _condition(action: Http, step: Step, scope: Scope, module: Module) -> Code | None:
    if action.success_condition is None:
        return None
    takes = "status: int, headers: Any, result: str"
    takes += ", values: dict[str, str]" if step.inputs else ""
    given = {
        one.name: Read(f"values[{quoted(one.name)}]", Kind(one.type, one.many).wire)
        for one in step.inputs
    }
    code = _ResponseScope(scope.steps, params=given).condition(action.success_condition)
    return Code(module.condition(f"good_{scope.prefix}{step.name}", code, takes))


class _ResponseScope(Scope):
    """What the condition on a response reads."""

    def read(self, value: Value) -> Read:
        """Return the expression for a value."""
        match value:
            case OwnRef(fact="status_code"):
                return Read("encode(status)", "int", native="status")
            case OwnRef(fact="header"):
                return Read(f'headers.get({quoted(value.name or "")}, "")')
            case OwnRef(fact="input"):
                return self.params[value.name or ""]
            case OwnRef():
                return Read("result")
        return super().read(value)


def _bytes(given: bytes) -> str:
    source = repr(given)
    if source[1] == '"' or '"' in source:
        return source
    return f'b"{source[2:-1]}"'
