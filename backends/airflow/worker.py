"""Functions that DAG files carry for steps that run on Airflow's worker, without a pod."""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from couler.backends.airflow.runtime import fitting
from couler.ir.semantics.wire import decode, dump_json, encode

if TYPE_CHECKING:
    import requests
    from airflow.providers.cncf.kubernetes.hooks.kubernetes import KubernetesHook
    from airflow.sdk import PokeReturnValue, get_current_context
    from airflow.sdk.exceptions import AirflowFailException
    from airflow.sdk.log import mask_secret

MODULES: dict[str, tuple[str, ...]] = {
    "airflow.providers.cncf.kubernetes.hooks.kubernetes": ("KubernetesHook",),
    "airflow.sdk": ("PokeReturnValue", "get_current_context"),
    "airflow.sdk.exceptions": ("AirflowFailException",),
    "airflow.sdk.log": ("mask_secret",),
    "base64": (),
    "collections.abc": ("Callable", "Sequence"),
    "pathlib": ("Path",),
    "re": (),
    "requests": (),
    "time": (),
    "typing": ("Any",),
}
"""Where the names come from that the functions use."""


def request(
    url: str,
    method: str = "GET",
    headers: dict[str, str] | None = None,
    entries: dict[str, list[Any]] | None = None,
    read: Callable[..., str | None] | None = None,
    body: str | bytes | None = None,
    codes: list[int] | None = None,
    condition: Callable[..., bool] | None = None,
    values: dict[str, str] | None = None,
    verify: bool = True,
    outputs: list[str] | None = None,
) -> dict[str, str] | None:
    """Send a request; return the body of the response. Headers from entries are read here alone."""
    sent = {"Accept-Encoding": "identity", **(headers or {})}
    if read is not None:
        for name, entry in (entries or {}).items():
            value = read(*entry)
            if value is not None and not re.fullmatch(r"(?!\s)[\t -~\x80-\xff]*", value):
                raise ValueError(f"the entry for the header {name} is no text of a header")
            if value is not None:
                sent[name] = value
    data = body.encode() if isinstance(body, str) else body
    session: Any = requests.Session()
    with session:

        def redirected(following: Any, response: Any) -> None:
            if session.should_strip_auth(response.request.url, following.url):
                for name in sent:
                    following.headers.pop(name, None)

        session.rebuild_auth = redirected  # another server gets no header that may be secret
        with session.request(
            method,
            url,
            headers=sent,
            data=data,
            auth=lambda prepared: prepared,  # none from the worker's own files
            verify=verify,
            stream=True,
        ) as response:
            content = response.raw.read(65537)
            status, answered = response.status_code, response.headers
    if condition is None:
        good = status in (codes or range(200, 300))
    else:
        try:
            given = () if values is None else (values,)
            good = condition(status, answered, content.decode(errors="replace"), *given)
        except AirflowFailException as error:  # the next response may be another one
            raise ValueError(f"the condition on the response: {error}") from error
    if not good:
        raise RuntimeError(f"{method} {url} was answered with {status}")
    if outputs and len(content) > 65536:
        raise ValueError("the response takes more than 65536 bytes, which do not travel")
    try:
        return {name: content.decode() for name in outputs} if outputs else None
    except UnicodeDecodeError as error:
        raise ValueError("the response is no text in UTF-8, which alone travels") from error


def read_entry(kind: str, name: str, key: str, optional: bool = False) -> str | None:
    """Return an entry of a secret, which logs then hide, or of a config map; None if optional."""
    read = getattr(KubernetesHook().core_v1_client, f"read_namespaced_{kind}")
    try:
        value = (read(name, cluster_namespace()).data or {})[key]
    except Exception as error:
        if optional and (isinstance(error, KeyError) or getattr(error, "status", 0) == 404):
            return None
        raise
    if kind != "secret":
        return str(value)
    found = base64.b64decode(value).decode()
    mask_secret(found)
    return found


def cluster_namespace() -> str:
    """Return where pods run: as the DAG says, or the connection, or else beside the worker."""
    said: str | None = get_current_context()["dag"].default_args.get("namespace")
    if said:
        return said
    own = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
    found: str | None = KubernetesHook().get_namespace()
    return found or (own.read_text() if own.exists() else "default")


def config_parameters(entries: dict[str, dict[str, str]], params: Any) -> dict[str, str]:
    """Return parameters of which entries of config maps are the values where a run gives none."""
    core, namespace, found = KubernetesHook().core_v1_client, cluster_namespace(), {}
    for name, entry in entries.items():
        value = params[name]
        if value is None:
            maps = core.list_namespaced_config_map(
                namespace, field_selector=f"metadata.name={entry['config_map']}"
            )
            data = (maps.items[0].data or {}) if maps.items else {}
            value = data.get(entry["key"], entry.get("default"))
        elif entry["type"] == "json":
            value = dump_json(value)
        if value is None:
            raise AirflowFailException(
                f"the parameter {name} is not given, and it is no entry of a config map: {entry}"
            )
        found[name] = encode(value)
        decode(found[name], entry["type"])
    return found


def entered(*required: str, any_json: Sequence[str] = ()) -> Callable[[Any, Any], None]:
    """Return what hands on the values that a person has entered; some of them must be there."""

    def post_execute(context: Any, result: Any) -> None:
        given = result["params_input"]
        missing = [name for name in required if given.get(name) is None]
        if missing:
            raise AirflowFailException(f"nothing was entered for {', '.join(missing)}")
        values = {
            name: fitting(name, dump_json(value) if name in any_json else encode(value))
            for name, value in given.items()
        }
        context["ti"].xcom_push("return_value", values)

    return post_execute


def label_texts(labels: Any) -> Any:
    """Return for each item what tells a person which one it is."""
    if isinstance(labels, list):
        return [one["couler-item"] for one in labels]
    return labels.map(lambda one: one["couler-item"])


def wait(seconds: float, outputs: dict[str, str] | None = None) -> dict[str, str] | None:
    """Wait so long, and hand outputs on."""
    time.sleep(seconds)
    return outputs


def has_waited(
    limit_s: float | None = None,
    outputs: dict[str, str] | None = None,
    task_reschedule_count: int = 0,
) -> Any:
    """Return whether a sensor is called for the second time; fail if that is past its limit."""
    if task_reschedule_count and limit_s is not None:
        raise RuntimeError(f"the pause did not end within {limit_s} s")
    if outputs is None:
        return task_reschedule_count > 0
    return PokeReturnValue(task_reschedule_count > 0, outputs)
