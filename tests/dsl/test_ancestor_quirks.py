"""Quirks of the earlier SDK that are gone, and its order of arguments, which is kept."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import couler
import couler.argo as argo
from couler import stages
from couler.core.workflow_validation_utils import validate_workflow_yaml
from couler.ir import workflow as ir
from couler.stages.programs import LoadError, load_program
from tests.dsl.look import box, codes, implicit, waits


def test_a_program_that_raises_prints_nothing_of_ours() -> None:
    program = """
import logging
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter
couler.run_container("alpine:3.20", ["echo", "hello"], step_name="hello")
submitter = ArgoSubmitter()
assert logging.getLogger().handlers == []
raise SystemExit("a mistake of the program")
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(Path(couler.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "a mistake of the program\n")


def test_names_with_underscores_become_names_of_argos() -> None:
    couler.dag([[lambda: box("load_data"), lambda: box("fit.model")]])
    assert codes(implicit()) == ["CLR150"]
    couler._cleanup()
    couler.dag([[lambda: box("load_data"), lambda: box("fit_model")]])
    assert waits(implicit()) == {"load_data": (), "fit_model": ("load_data",)}
    tasks = couler.workflow_yaml()["spec"]["templates"][0]["dag"]["tasks"]
    assert [(task["name"], task.get("depends")) for task in tasks] == [
        ("load-data", None),
        ("fit-model", "load-data"),
    ]


def test_a_cycle_is_reported() -> None:
    couler.set_dependencies(lambda: box("a"), ["b"])
    couler.set_dependencies(lambda: box("b"), ["a"])
    assert codes(implicit()) == ["CLR202"]


def test_lists_and_texts_of_dependencies_go_together() -> None:
    couler.set_dependencies(lambda: box("a"))
    couler.set_dependencies(lambda: box("b"), ["a"])
    couler.set_dependencies(lambda: box("c"), "a && (b.Failed || b.Succeeded)")
    text = stages.compile(implicit(), "argo", format="json").to_text()
    manifest = json.loads(text)
    validate_workflow_yaml(manifest)
    assert '"dependencies"' not in text
    tasks = {task["name"]: task for task in manifest["spec"]["templates"][0]["dag"]["tasks"]}
    assert tasks["b"]["depends"] == "a"


def test_a_truth_is_no_number_of_retries() -> None:
    box("a", retry=True)
    assert codes(implicit()) == ["CLR105"]


def test_what_the_workflow_of_the_program_has_no_more() -> None:
    for name in ("templates", "dag_tasks", "get_template", "get_steps_dict"):
        with pytest.raises(AttributeError, match=r"couler\.workflow_yaml\(\) is the manifest"):
            getattr(argo.workflow, name)
    with pytest.raises(AttributeError, match=r"^couler\.workflow has no attribute 'nonsense'$"):
        _ = argo.workflow.nonsense


_PROCESS = "output input env {} secret resources timeout retry step_name image_pull_policy pool"
_POD = "enable_ulogfs daemon volume_mounts working_dir node_selector cache"
_JOB = "timeout retry step_name pool env action set_owner_reference cache"
_CLIENT = "namespace config_file context client_configuration persist_config"


ARGUMENTS = (
    ("run_container", f"image command args {_PROCESS} {_POD} parallelism".format("env_from")),
    ("run_script", f"image command source args {_PROCESS} {_POD}".format("")),
    (
        "run_job",
        f"manifest success_condition failure_condition {_JOB}",
    ),
    ("when", "condition function"),
    ("concurrent", "function_list subtasks"),
    ("map", "function"),
    ("exec_while", "condition inner"),
    ("dag", "dependency_graph"),
    ("set_dependencies", "step_function dependencies"),
    ("set_exit_handler", "status exit_handler"),
    ("set_dns", "policy"),
    ("add_toleration", "toleration"),
    ("add_image_pull_secret", "image_pull_secret"),
    ("add_volume", "volume"),
    ("equal", "pre post"),
    ("smaller_equal", "pre post"),
    (
        "config_workflow",
        "name user_id timeout time_to_clean cluster_config_file cron_config service_account",
    ),
    ("config_defaults", "name_salter service_account"),
    ("create_parameter_artifact", "path is_global"),
    ("create_local_artifact", "path is_global"),
    ("create_secret", "secret_data namespace name dry_run use_existing artifact_secret"),
    ("obtain_secret", "secret_keys namespace name dry_run"),
    ("get_secret", "name"),
    ("get_step_output", "step_name"),
    ("run", "submitter"),
    ("delete", f"name {_CLIENT} grace_period_seconds propagation_policy"),
    ("ArgoSubmitter", _CLIENT),
    ("Cache", "name key max_age"),
    ("Toleration", "key effect operator"),
    ("Volume", "name claim_name"),
    ("VolumeMount", "name mount_path"),
    ("VolumeClaimTemplate", "claim_name access_modes size"),
    ("ImagePullSecret", "name"),
    ("DnsConfig", "nameservers options searches"),
    ("DnsConfigOption", "name value"),
)


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ('"6379"', "6379"),
        ("'a b'", "a b"),
        ('""', ""),
        ('"a" and "b"', '"a" and "b"'),
        ('"a', '"a'),
        ("it's", "it's"),
    ],
)
def test_quotes_around_variables_go_in_the_style_of_the_earlier_sdk(given: str, value: str) -> None:
    box("cache", env={"PORT": given})
    couler.run_job({"kind": "Pod", "spec": {}}, env={"PORT": given}, step_name="job")
    with couler.Workflow("w") as wf:
        box("cache", env={"PORT": given})
    container, job = implicit().to_ir().steps
    assert [one.value for one in container.env] == [value]
    assert isinstance(job.action, ir.Job)
    assert job.action.manifest["spec"]["env"] == ({"name": "PORT", "value": value},)
    assert [one.value for one in wf.to_ir().steps[0].env] == [given]


def test_a_volume_that_writes_its_own_fields_is_refused() -> None:
    with pytest.raises(couler.DefinitionError, match=r"couler\.HostVolume"):
        type("Own", (couler.Volume,), {"to_dict": lambda self: {}})
    type("Preset", (couler.Volume,), {})


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("from couler.docker_submitter import DockerSubmitter", "couler run FILE --runtime docker"),
        ("import couler.core.templates.step", "what is public is in `couler`"),
        ("print(argo.run(submitter=print)['metadata'])", "run.run_id"),
        ("argo.run().wait()", "return None"),
    ],
)
def test_what_is_gone_says_what_replaces_it(tmp_path: Path, lines: str, told: str) -> None:
    program = tmp_path / "flow.py"
    step = "import couler.argo as argo\nargo.run_container('busybox', ['true'], step_name='a')\n"
    program.write_text(f"{step}{lines}\n")
    with pytest.raises(LoadError) as caught:
        load_program(str(program))
    found = caught.value.diagnostic
    assert told in found.message
    assert "Install it" not in found.message
    assert (found.source and found.source.line) == 3


def test_another_none_is_not_the_result_of_a_run(tmp_path: Path) -> None:
    program = tmp_path / "flow.py"
    program.write_text(
        "import couler.argo as argo\n"
        "argo.run_container('busybox', ['true'], step_name='a')\n"
        "run = argo.run()\n"
        "{}.get('name').upper()\n"
    )
    with pytest.raises(LoadError) as caught:
        load_program(str(program))
    assert "run_id" not in caught.value.diagnostic.message


def test_arguments_by_position() -> None:
    for name, arguments in ARGUMENTS:
        found = [
            one.name
            for one in inspect.signature(getattr(argo, name)).parameters.values()
            if one.kind is one.POSITIONAL_OR_KEYWORD
        ]
        assert found[: len(arguments.split())] == arguments.split(), name
