"""Steps that are no processes: what a DAG file has for requests, pauses, jobs, container sets."""

from __future__ import annotations

import base64
import contextlib
import types
import typing as t

import pytest

from couler.backends.airflow import AirflowBackend, worker
from couler.backends.airflow.cluster import fits, outputs_of
from couler.backends.base import Target
from couler.ir.base import FrozenDict
from couler.ir.defaults import resolve_defaults
from couler.ir.features import Feature
from couler.ir.pods import PodContainer
from couler.ir.policies import Foreach, Mutex
from couler.ir.storage import ConfigKey, EnvVar, SecretKey
from couler.ir.values import ItemRef, Literal, ManifestValue, ParamRef
from couler.ir.workflow import (
    ContainerSet,
    Group,
    Http,
    Job,
    Output,
    Parameter,
    Step,
    Suspend,
    Workflow,
)
from tests.support.feature_samples import FEATURE_SAMPLES
from tests.support.sample_flows import flow

BACKEND = AirflowBackend()
RESOURCE = FrozenDict(
    apiVersion="kubeflow.org/v1", kind="PyTorchJob", metadata=FrozenDict(generateName="train-")
)


def text_of(workflow: Workflow) -> str:
    return BACKEND.compile(resolve_defaults(workflow), Target()).to_text()


def sample(feature: Feature) -> str:
    return text_of(FEATURE_SAMPLES[feature])


def does(action: t.Any, **fields: t.Any) -> Workflow:
    return flow(Step(name="a", action=action, **fields))


def codes(workflow: Workflow, version: str | None = None) -> list[str]:
    target = Target(engine_version=version)
    return [one.code for one in BACKEND.check(resolve_defaults(workflow), target)]


def test_a_request_is_a_call_of_one_function() -> None:
    text = sample(Feature.HTTP)
    assert 'op_kwargs={"url": "https://example.org/"}' in text
    assert "python_callable=request" in text
    assert "KubernetesHook" not in text, "it has no secrets to read"
    assert 'b"\\x00\\x01\\xff"' in sample(Feature.HTTP_BODY_BYTES)
    assert '"verify": False' in sample(Feature.HTTP_UNVERIFIED)


def test_the_condition_on_a_response_is_a_function() -> None:
    text = sample(Feature.HTTP_SUCCESS_CONDITION)
    assert "def good_a(status: int, headers: Any, result: str) -> bool:" in text
    assert "status < 300" in text
    assert 'headers.get("x-state", "") == "done"' in text
    assert '"condition": good_a' in text


def test_entries_of_secrets_are_named_and_not_read_by_templates() -> None:
    headers = (
        EnvVar(name="Accept", value="text/plain"),
        EnvVar(name="Authorization", secret=SecretKey(secret="hub", key="token")),
        EnvVar(name="X-Site", config=ConfigKey(config_map="site", key="name", optional=True)),
    )
    text = text_of(does(Http(url="https://example.org/{{", headers=headers)))
    assert '"headers": {"Accept": "text/plain"}' in text
    assert '"Authorization": ["secret", "hub", "token"]' in text
    assert '"X-Site": ["config_map", "site", "name", True]' in text
    assert '"read": read_entry' in text
    assert 'literal("https://example.org/{{")' in text
    assert "read_entry" not in text[text.index("with DAG") :].replace('"read": read_entry', "")


def test_a_short_pause_is_a_function() -> None:
    text = sample(Feature.SUSPEND_SECONDS)
    assert "PythonOperator(" in text
    assert "python_callable=wait, op_args=[1]" in text
    cut = text_of(does(Suspend(seconds=600), timeout_s=2))
    assert "python_callable=wait," in cut
    assert "execution_timeout=timedelta(seconds=2)" in cut


def test_a_pause_gives_its_defaults() -> None:
    outputs = (Output(name="x", default="{{ d }}"), Output(name="n", type="int", default=3))
    given = '{"x": literal("{{ d }}"), "n": "3"}'
    assert f"op_args=[1, {given}]" in text_of(does(Suspend(seconds=1), outputs=outputs))
    long = text_of(does(Suspend(seconds=600), outputs=outputs, timeout_s=90))
    assert f'op_kwargs={{"limit_s": 90, "outputs": {given}}}' in long
    assert "PokeReturnValue(task_reschedule_count > 0, outputs)" in long


PUT_OFF = {
    "job": Job(manifest=RESOURCE),
    "person": Suspend(),
    "pause": Suspend(seconds=61),
}


@pytest.mark.parametrize("kind", PUT_OFF)
def test_what_waits_without_a_worker_has_no_bounds(kind: str) -> None:
    action = PUT_OFF[kind]
    items = Literal(value=(1, 2, 3))
    assert codes(does(action, mutex="disk")) == ["CLR358"]
    assert codes(does(action, locks=(Mutex(name="disk"),))) == ["CLR358"]
    bounded = does(action, foreach=Foreach(over=FrozenDict(item=items), max_parallel=1))
    assert codes(bounded, "3.1") == ["CLR358"]
    assert codes(bounded) == ([] if kind == "person" else ["CLR358"])
    assert codes(does(action, foreach=Foreach(over=FrozenDict(item=items)))) == []
    assert codes(does(action)) == []


def test_a_person_approves_or_enters_values() -> None:
    text = text_of(does(Suspend(message="Release {{ it }}?"), timeout_s=60))
    assert 'subject=literal("Release {{ it }}?")' in text
    assert "fail_on_reject=True" in text
    assert "response_timeout=timedelta(minutes=1)" in text or "seconds=60" in text
    assert "execution_timeout" not in text
    asked = sample(Feature.SUSPEND_OUTPUTS)
    assert (
        'params={"rate": Param(None, type=["null", "string"]), "n": Param(3, type="integer")}'
        in asked
    )
    assert 'post_execute=entered("rate")' in asked
    assert 'options=["OK"]' in asked


def test_what_a_person_enters_travels_by_its_type() -> None:
    notes = Output(name="notes", type="json", default="abc")
    step = Step(name="a", action=Suspend(), outputs=(Output(name="rate", type="float"), notes))
    assert 'post_execute=entered("rate", any_json=["notes"])' in text_of(flow(step))
    pushed: dict[str, t.Any] = {}
    context = {"ti": types.SimpleNamespace(xcom_push=pushed.__setitem__)}
    hand_on = worker.entered("rate", any_json=["notes", "more"])
    hand_on(context, {"params_input": {"rate": 0.5, "notes": "abc", "more": [1], "why": "abc"}})
    values = {"rate": "0.5", "notes": '"abc"', "more": "[1]", "why": "abc"}
    assert pushed == {"return_value": values}


@pytest.mark.parametrize("version", ["3.0", "3.1", None])
def test_people_are_asked_from_one_version_on(version: str | None) -> None:
    expected = ["CLR355"] if version == "3.0" else []
    assert codes(FEATURE_SAMPLES[Feature.SUSPEND], version) == expected
    assert codes(FEATURE_SAMPLES[Feature.SUSPENDED], version) == expected
    assert codes(FEATURE_SAMPLES[Feature.SUSPEND_SECONDS], version) == []


def test_values_stand_in_a_manifest() -> None:
    text = sample(Feature.JOB_VALUES)
    assert '"json_at": [["spec", "parallelism"]]' in text
    assert '"parallelism": \'{{ params["n"] }}\'' in text
    assert '"image": \'{{ ti.xcom_pull("a")["result"] }}\'' in text
    assert 'mode="reschedule"' in text
    assert "print(1)" not in text, "its local form is left out"


def test_what_belongs_to_the_run_is_removed_at_its_end() -> None:
    job = Job(manifest=RESOURCE, set_owner_reference=True)
    inner = Step(name="train", action=job, foreach=Foreach(over={"item": Literal(value=(1, 2))}))
    text = text_of(flow(Step(name="g", action=Group(steps=(inner,)))))
    assert '{"g.train": {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob"}}' in text
    assert ").as_teardown()" in text
    assert "last_tasks >> remove_resources" in text
    assert "as_teardown" not in sample(Feature.JOB)


@pytest.mark.parametrize(
    ("part", "holds"),
    [
        (("status.phase", "in", "Done"), True),
        (("status.phase", "in", "Failed", "Lost"), False),
        (("status.phase", "notin", "Done"), False),
        (("status.none", "in", ""), False),
        (("status.none", "notin", "Done"), True),
        (("status.none", "!"), True),
        (("status.phase", "is"), True),
        (("status.count", ">", "2"), True),
        (("status.count", "<", "3"), False),
        (("status.phase", ">", "2"), False),
        (("status.ready", "in", "true"), True),
        (("status.conditions.1.type", "in", "Ready"), True),
        (("status.conditions.2.type", "in", "Ready"), False),
        (("status.conditions.x.type", "notin", "Ready"), True),
    ],
)
def test_parts_of_conditions(part: tuple[str, ...], holds: bool) -> None:
    conditions = [{"type": "Created"}, {"type": "Ready"}]
    status = {"phase": "Done", "count": 3, "ready": True, "conditions": conditions}
    assert fits({"status": status}, *part) is holds


def test_fields_are_read_as_kubectl_writes_them() -> None:
    conditions = [{"type": "Created", "n": 1}, {"type": "Ready", "n": 2}]
    resource = {"metadata": {"name": "a"}, "status": {"conditions": conditions, "ok": True}}
    found = outputs_of(
        resource,
        {
            "name": ["metadata", "name"],
            "types": ["status", "conditions", [], "type"],
            "ready": ["status", "conditions", [["type"], "==", "Ready"], "n"],
            "last": ["status", "conditions", -1],
            "ok": ["status", "ok"],
            "none": ["status", "conditions", 7, "type"],
        },
    )
    assert found == {
        "name": "a",
        "types": "Created Ready",
        "ready": "2",
        "last": '{"type":"Ready","n":2}',
        "ok": "true",
        "none": "",
    }
    with pytest.raises(ValueError, match="65536"):
        outputs_of({"a": "x" * 65537}, {"a": ["a"]})


def test_jobs_hand_no_text_to_jinja() -> None:
    manifest = FrozenDict(
        apiVersion="v1",
        kind="ConfigMap",
        metadata=FrozenDict(generateName="a-", namespace="{{ ns }}"),
        data=FrozenDict({"{{ k }}": 1}),
    )
    job = Job(
        manifest=manifest,
        set_owner_reference=True,
        values=(ManifestValue(path=("data", "{{ k }}"), value=ParamRef(name="p"), type="int"),),
    )
    output = Output(name="o", json_path="{.data['{{ x }}']}")
    workflow = flow(
        Step(name="a", action=job, outputs=(output,)),
        parameters=(Parameter(name="p", default=1, type="int"),),
    )
    text = text_of(workflow)
    assert """"outputs": {"o": ["data", literal("{{ x }}")]}""" in text
    assert """"json_at": [["data", literal("{{ k }}")]]""" in text
    assert text.count("""{"namespace": literal("{{ ns }}")}""") == 1


def container(name: str, *before: str) -> PodContainer:
    return PodContainer(name=name, image="alpine:3", command=("true",), depends_on=before)


@pytest.mark.parametrize(
    "containers",
    [
        (container("main"), container("beside")),
        (container("main"), container("after", "main")),
        (container("one"), container("other")),
    ],
)
def test_sets_that_are_no_row_are_refused(containers: tuple[PodContainer, ...]) -> None:
    assert codes(does(ContainerSet(containers=containers))) == ["CLR357"]


def test_items_of_a_foreach_have_labels_where_the_operator_has_a_field_for_them() -> None:
    over = Foreach(over={"item": Literal(value=("a", "b"))})
    url = ItemRef()
    labels = '[{"couler-item": str(index)} for index in range(len(A_ITEMS))]'
    assert f").expand(templates_dict={labels})" in text_of(does(Http(url=url), foreach=over))
    assert f").expand(body=label_texts({labels}))" in text_of(does(Suspend(), foreach=over))


def asked_core(monkeypatch: pytest.MonkeyPatch, **answers: t.Any) -> None:
    """Let the functions of the worker ask a cluster that answers so."""
    hook = types.SimpleNamespace(core_v1_client=types.SimpleNamespace(**answers))
    monkeypatch.setattr(worker, "KubernetesHook", lambda: hook, raising=False)
    monkeypatch.setattr(worker, "cluster_namespace", lambda: "jobs")


@pytest.mark.parametrize(("kind", "masked"), [("secret", ["geheim"]), ("config_map", [])])
def test_logs_hide_what_is_read_from_a_secret(
    kind: str, masked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[str] = []
    text = base64.b64encode(b"geheim").decode() if kind == "secret" else "geheim"
    entry = types.SimpleNamespace(data={"token": text})
    asked_core(monkeypatch, **{f"read_namespaced_{kind}": lambda *_: entry})
    monkeypatch.setattr(worker, "mask_secret", found.append, raising=False)
    assert worker.read_entry(kind, "site", "token") == "geheim"
    assert found == masked


@pytest.mark.parametrize("data", [None, {}])
@pytest.mark.parametrize("kind", ["secret", "config_map"])
def test_an_entry_that_need_not_be_there_is_none(
    kind: str, data: dict[str, str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder = types.SimpleNamespace(data=data)
    asked_core(monkeypatch, **{f"read_namespaced_{kind}": lambda *_: holder})
    assert worker.read_entry(kind, "site", "token", optional=True) is None
    with pytest.raises(KeyError, match="token"):
        worker.read_entry(kind, "site", "token")


def test_parameters_are_read_from_config_maps_where_the_pods_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    maps = {("jobs", "metadata.name=site"): {"n": "3"}}

    def listed(namespace: str, field_selector: str) -> t.Any:
        data = maps.get((namespace, field_selector))
        return types.SimpleNamespace(items=[types.SimpleNamespace(data=data)] if data else [])

    asked_core(monkeypatch, list_namespaced_config_map=listed)
    entry = {"config_map": "site", "key": "n", "type": "int", "default": "1"}
    found = worker.config_parameters(
        {"n": entry, "m": {**entry, "key": "m"}}, {"n": None, "m": None}
    )
    assert found == {"n": "3", "m": "1"}
    assert worker.config_parameters({"n": entry}, {"n": 4}) == {"n": "4"}


def test_a_response_that_is_no_text_does_not_travel(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = types.SimpleNamespace(read=lambda _: b"caf\xe9")
    answer = types.SimpleNamespace(raw=raw, status_code=200, headers={})
    session = types.SimpleNamespace(request=lambda *_, **__: contextlib.nullcontext(answer))
    requests = types.SimpleNamespace(Session=lambda: Session(session))
    monkeypatch.setattr(worker, "requests", requests, raising=False)
    assert worker.request("http://a/") is None, "nobody reads it"
    with pytest.raises(ValueError, match="the response is no text in UTF-8"):
        worker.request("http://a/", outputs=["result"])


class Session:
    """A session that answers as another object does."""

    def __init__(self, other: types.SimpleNamespace) -> None:
        self.request = other.request

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass
