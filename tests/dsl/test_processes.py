"""Containers, scripts and jobs: words, files, outputs, names and options."""

from __future__ import annotations

import subprocess
import sys
import typing as t
from pathlib import Path

import pytest

import couler
from couler import File
from couler.ir.policies import (
    Backoff,
    Cache,
    Gpu,
    Placement,
    Profile,
    Resources,
    Retry,
    Toleration,
)
from couler.ir.storage import ConfigKey, EnvFrom, EnvVar, Mount, SecretKey
from couler.ir.values import StepRef
from couler.ir.workflow import Container, Input, Job, LocalForm, Output, Script
from couler.packages import default_image
from tests.dsl.look import box, codes, steps


@couler.step
def make() -> File:
    return File("x")


def only(workflow: couler.Workflow):
    [step] = workflow.to_ir().steps
    return step


def test_words_are_text_numbers_and_values() -> None:
    with couler.Workflow("w") as wf:
        a = box("a")
        couler.run_container("busybox", "echo", [1, 1.5, True, None, {"k": [1]}, "x y"])
        couler.run_container("busybox", ["echo", a], a, step_name="one")
        couler.run_container("busybox", ["echo"], [[a], "KEEP", 7], step_name="two")
    found = steps(wf)
    assert found["busybox"].action == Container(
        image="busybox",
        command=("echo",),
        args=("1", "1.5", "true", "null", '{"k":[1]}', "x y"),
    )
    assert found["one"].action.command == ("echo", StepRef(step="a"))
    assert found["one"].action.args == (StepRef(step="a"),)
    assert found["two"].action.args == (StepRef(step="a"), "KEEP", "7")


def test_files_as_arguments_are_paths() -> None:
    with couler.Workflow("w") as wf:
        made = make()
        wrote = couler.run_container(
            "busybox", ["sh"], output=File("/out/model.bin"), step_name="wrote"
        )
        couler.run_container("busybox", ["cat"], [made, wrote], step_name="cat")
    cat = steps(wf)["cat"]
    assert cat.action.args == ("/tmp/couler/inputs/make/x", "/out/model.bin")
    assert cat.inputs == (
        Input(
            name="make", value=StepRef(step="make"), type="file", path="/tmp/couler/inputs/make/x"
        ),
        Input(
            name="wrote",
            value=StepRef(step="wrote", output="model"),
            type="file",
            path="/out/model.bin",
        ),
    )
    assert codes(wf) == []


def test_files_as_inputs() -> None:
    with couler.Workflow("w") as wf:
        made = make()
        couler.run_container("busybox", ["cat"], input=made, step_name="a")
        couler.run_container("busybox", ["cat"], input={"/data/x": made, "y": made}, step_name="b")
        couler.run_container("busybox", ["cat"], input=[3], step_name="c")
        couler.run_container("busybox", ["cat"], input=box("d"), step_name="e")
    found = steps(wf)
    assert [one.path for one in found["a"].inputs] == ["/tmp/couler/inputs/make/x"]
    assert [(one.name, one.path) for one in found["b"].inputs] == [
        ("x", "/data/x"),
        ("y", "y"),
    ]
    assert [one.code for one in wf.diagnostics] == ["CLR105", "CLR105"]


def test_declared_outputs_and_what_is_printed() -> None:
    with couler.Workflow("w") as wf:
        a = couler.run_container(
            "busybox",
            ["sh"],
            output=[
                couler.create_parameter_artifact("/tmp/score.txt", type=float, default=0.0),
                "/tmp/score.json",
                couler.File("model.bin"),
                couler.Directory("/out/"),
            ],
            step_name="a",
        )
        b = couler.run_container("busybox", ["sh"], output={"best": "/b"}, step_name="b")
        box("c", a.score, a["score_2"], a.result, b, b.best)
    assert steps(wf)["a"].outputs == (
        Output(name="score", type="float", path="/tmp/score.txt", default=0.0),
        Output(name="score_2", path="/tmp/score.json"),
        Output(name="model", type="file", path="model.bin"),
        Output(name="out", type="directory", path="/out/"),
    )
    assert [ref.output for ref in steps(wf)["c"].action.args] == [
        "score",
        "score_2",
        "result",
        "best",
        "best",
    ]
    assert len(a) == 4
    assert [handle._output for handle in a] == ["score", "score_2", "model", "out"]
    assert a[2]._output == "model"


def test_wrong_outputs_are_reported() -> None:
    with couler.Workflow("w") as wf:
        couler.run_container("busybox", ["sh"], output=[3])
    assert [one.code for one in wf.diagnostics] == ["CLR105"]
    with pytest.raises(ValueError, match="set"):
        couler.create_parameter_artifact("/x", type=set)


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("docker/whalesay:latest", "whalesay"),
        ("localhost:5000/a_b@sha256:0", "a-b"),
        ("busybox", "busybox"),
    ],
)
def test_names_come_from_the_image_in_the_program_itself(image: str, name: str) -> None:
    namespace: dict[str, object] = {}
    program = (
        "import couler\n"
        "with couler.Workflow('w') as wf:\n"
        f"    couler.run_container({image!r}, ['true'])\n"
    )
    exec(compile(program, "program.py", "exec"), namespace)
    assert list(steps(namespace["wf"])) == [name]  # type: ignore[arg-type]


def test_all_options_reach_the_step() -> None:
    with couler.Workflow("w") as wf:
        couler.create_secret({"user": "u", "password": "p"}, name="db")
        couler.run_container(
            image="busybox",
            command=["true"],
            env={"A": 1, "B": "b", "C": couler_secret(), "D": ConfigKey(config_map="c", key="k")},
            env_from=[{"secretRef": {"name": "s"}}, {"configMapRef": {"name": "m"}, "prefix": "P"}],
            secret="db",
            cpu=0.5,
            memory="1Gi",
            disk="2Gi",
            gpu=couler.Gpu(2, "a100"),
            timeout="1h30m",
            retry=couler.Retry(3, wait="10s", cap=60, on=["error"], exit_codes=[137]),
            cache=couler.Cache("models", key="v2", max_age="1d"),
            image_pull_policy=couler.ImagePullPolicy.Always,
            daemon=True,
            volume_mounts=[couler.VolumeMount("scratch", "/scratch")],
            working_dir="/work",
            node_selector={"zone": "a"},
            tolerations=[couler.Toleration("gpu", "NoSchedule", "Exists")],
            affinity={"nodeAffinity": {}},
            priority_class="high",
            labels={"team": "ml"},
            annotations={"note": "x"},
            mutex="lock",
            profile={"seconds": 2.0},
            engine={"argo": {"hostNetwork": True}},
            step_name="a",
        )
    step = only(wf)
    assert step.env == (
        EnvVar(name="A", value="1"),
        EnvVar(name="B", value="b"),
        EnvVar(name="C", secret=SecretKey(secret="other", key="k")),
        EnvVar(name="D", config=ConfigKey(config_map="c", key="k")),
        EnvVar(name="user", secret=SecretKey(secret="db", key="user")),
        EnvVar(name="password", secret=SecretKey(secret="db", key="password")),
    )
    assert step.env_from == (EnvFrom(secret="s"), EnvFrom(config_map="m", prefix="P"))
    assert step.resources == Resources(
        cpu="500m", memory="1Gi", disk="2Gi", gpu=Gpu(count=2, type="a100")
    )
    assert step.timeout_s == 5400
    assert step.retry == Retry(
        limit=3, on=("error",), backoff=Backoff(seconds=10, cap_s=60), exit_codes=(137,)
    )
    assert step.cache == Cache(name="models", salt="v2", max_age_s=86400)
    assert (step.pull_policy, step.daemon, step.working_dir) == ("Always", True, "/work")
    assert step.mounts == (Mount(volume="scratch", path="/scratch"),)
    assert step.placement == Placement(
        node_selector={"zone": "a"},
        tolerations=(Toleration(key="gpu", effect="NoSchedule", operator="Exists"),),
        affinity={"nodeAffinity": {}},
        priority_class="high",
    )
    assert (step.labels, step.annotations, step.mutex) == ({"team": "ml"}, {"note": "x"}, "lock")
    assert step.profile == Profile(seconds=2.0)
    assert step.engine == {"argo": {"hostNetwork": True}}
    assert [volume.name for volume in wf.to_ir().volumes] == ["scratch"]
    assert wf.diagnostics == ()


def couler_secret() -> SecretKey:
    return SecretKey(secret="other", key="k")


def test_the_ancestors_resources_are_limits_as_well() -> None:
    with couler.Workflow("w") as wf:
        box("a", resources={"cpu": 1, "memory": "1Gi", "nvidia.com/gpu": 1, "example.com/fpga": 2})
    assert only(wf).resources == Resources(
        cpu="1",
        cpu_limit="1",
        memory="1Gi",
        memory_limit="1Gi",
        gpu=Gpu(count=1),
        other={"example.com/fpga": "2"},
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"retry": True}, "no number of retries"),
        ({"retry": -1}, "no number of retries"),
        ({"retry": couler.Retry(-1)}, "greater than"),
        ({"timeout": "soon"}, "'soon' is no duration"),
        ({"timeout": 0}, "more than 0 seconds"),
        ({"memory": 2}, "'2Gi'"),
        ({"cpu": True}, "no quantity"),
        ({"gpu": "a100"}, "couler.Gpu"),
        ({"resources": ["cpu"]}, "no dict"),
        ({"env": ["A"]}, "no dict"),
        ({"env_from": [{}]}, "secretRef"),
        ({"secret": "nobody"}, 'no secret "nobody"'),
        ({"image_pull_policy": "Sometimes"}, "none of IfNotPresent"),
        ({"volume_mounts": ["/x"]}, "volume_mounts"),
        ({"cache": "yes"}, "cache=True"),
        ({"cache": "0d"}, "more than 0 seconds"),
        ({"labels": "x"}, "labels"),
    ],
)
def test_wrong_options_are_reported_with_their_name(options, message: str) -> None:
    with couler.Workflow("w") as wf:
        box("a", **options)
    [problem] = wf.diagnostics
    assert problem.code == "CLR105"
    assert problem.message.startswith(f'step "a": {"cpu: " if "cpu" in options else ""}')
    assert message in problem.message


@pytest.mark.parametrize(
    ("cache", "meant"),
    [
        (True, Cache()),
        (False, None),
        ("7d", Cache(max_age_s=7 * 86400)),
        ("90", Cache(max_age_s=90)),
    ],
)
def test_a_cache_is_yes_or_how_old_it_may_be(cache: bool | str, meant: Cache | None) -> None:
    with couler.Workflow("w") as wf:
        box("a", cache=cache)
    assert only(wf).cache == meant


def test_unknown_options_and_those_without_effect() -> None:
    with couler.Workflow("w") as wf:
        box("a", memroy="1Gi")
        box("b", pool="p", enable_ulogfs=False)
    assert [(one.code, one.severity) for one in wf.diagnostics] == [
        ("CLR104", "error"),
        ("CLR106", "warning"),
    ]
    assert 'Did you mean "memory"?' in wf.diagnostics[0].message


def test_scripts() -> None:
    with couler.Workflow("w") as wf:
        couler.run_script("busybox", "sh", "date", step_name="a")
        couler.run_script(source="print(1)", command=["python3", "-u"], packages=["numpy"])
    first, second = wf.to_ir().steps
    assert first.action == Script(image="busybox", source="date", command=("sh",))
    assert second.action.command == ("python3", "-u")
    assert second.action.packages == ("numpy",)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert second.action.image == f"python:{version}-slim"


def test_arguments_of_scripts_are_found_where_arguments_are(tmp_path: Path) -> None:
    with couler.Workflow("w") as wf:
        a = box("a")
        couler.run_script("busybox", "sh", 'echo "$1-$2"', [a, 3], step_name="shell")
        couler.run_script(
            "python:3.12",
            source='"""Doc."""\nfrom __future__ import annotations\n'
            "import sys\nprint(sys.argv[1:])",
            args=["x", "{{y}}"],
            step_name="python",
        )
        couler.run_script("perl", "perl", "print 1", ["x"], step_name="perl")
    found = steps(wf)
    assert [one.code for one in wf.diagnostics] == ["CLR137"]
    assert found["shell"].inputs == (
        Input(name="arg_0", value=StepRef(step="a")),
        Input(name="arg_1", value=found["shell"].inputs[1].value),
    )
    environ = {"COULER_INPUT_arg_0": "a b", "COULER_INPUT_arg_1": "c"}
    for name, program, expected in (
        ("shell", "sh", "a b-c\n"),
        ("python", sys.executable, "['a b', 'c']\n"),
    ):
        path = tmp_path / name
        path.write_text(found[name].action.source)
        done = subprocess.run([program, path], env=environ, capture_output=True, text=True)
        assert done.stdout == expected


def test_jobs() -> None:
    manifest = "apiVersion: batch/v1\nkind: Job\nspec: {env: [{name: A, value: a}]}\n"
    with couler.Workflow("w") as wf:
        job = couler.run_job(
            manifest,
            "status.succeeded > 0",
            "status.failed > 0",
            env={"B": 2},
            retry=1,
            step_name="train",
        )
        box("after", job, job.job_id)
    step = steps(wf)["train"]
    assert step.action == Job(
        manifest={
            "apiVersion": "batch/v1",
            "kind": "Job",
            "spec": {"env": [{"name": "A", "value": "a"}, {"name": "B", "value": "2"}]},
        },
        success_condition="status.succeeded > 0",
        failure_condition="status.failed > 0",
        set_owner_reference=True,
    )
    assert [one.name for one in step.outputs] == ["job_name", "job_id"]
    assert step.retry.limit == 1


MANIFEST = {"apiVersion": "batch/v1", "kind": "Job"}


def fit() -> None:
    import sys

    sys.stdout.write("fitted")


def test_the_local_form_of_a_job() -> None:
    with couler.Workflow("w") as wf:
        data = box("data", output={"rows": couler.File("rows.csv")})
        form = couler.LocalForm(
            command=["train", "--rows"],
            args=[data.rows, 3],
            input={"inputs/more.csv": data.rows},
            output={"loss": "loss.txt"},
            env={"DEVICE": "cpu"},
            cpu=2,
            working_dir="/srv",
        )
        job = couler.run_job(
            MANIFEST, outputs={"loss": "{.status.loss}"}, local=form, step_name="train"
        )
        box("tell", job.loss)
    step = steps(wf)["train"]
    rows = StepRef(step="data", output="rows")
    assert step.outputs == (Output(name="loss", json_path="{.status.loss}"),)
    assert step.action.local == LocalForm(
        action=Container(
            image=default_image(),
            command=("train", "--rows"),
            args=("/tmp/couler/inputs/data/rows.csv", "3"),
        ),
        inputs=(
            Input(name="more_csv", value=rows, type="file", path="/srv/inputs/more.csv"),
            Input(name="data", value=rows, type="file", path="/tmp/couler/inputs/data/rows.csv"),
        ),
        outputs=(Output(name="loss", path="loss.txt"),),
        env=(EnvVar(name="DEVICE", value="cpu"),),
        resources=Resources(cpu="2"),
        working_dir="/srv",
    )
    assert codes(wf) == []


def test_a_function_is_a_local_form() -> None:
    with couler.Workflow("w") as wf:
        first = box("first")
        couler.run_job(MANIFEST, local=fit, step_name="bare")
        form = couler.LocalForm(fit, args=[first], image="python:3", packages=["numpy"])
        couler.run_job(MANIFEST, local=form, step_name="full")
    bare, full = (steps(wf)[name].action.local for name in ("bare", "full"))
    assert "fitted" in bare.action.source
    assert bare.action.command == ("python",)
    assert (full.action.image, full.action.packages) == ("python:3", ("numpy",))
    assert full.inputs == (Input(name="arg_0", value=StepRef(step="first")),)
    assert codes(wf) == []


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ({"local": 3}, "CLR105", "neither a couler.LocalForm nor a function"),
        ({"local": couler.LocalForm()}, "CLR141", "neither a source nor a command"),
        ({"local": couler.LocalForm(fit, cpu=[])}, "CLR105", "cpu"),
        ({"local": couler.LocalForm(fit, input="x")}, "CLR105", "neither a file of a step"),
        ({"outputs": {"job_id": "{.x}"}}, "CLR105", "every job has an output"),
        ({"outputs": {"x": 3}}, "CLR105", "no text"),
    ],
)
def test_wrong_local_forms_and_outputs_of_jobs(
    options: dict[str, t.Any], code: str, words: str
) -> None:
    with couler.Workflow("w") as wf:
        couler.run_job(MANIFEST, step_name="train", **options)
    [problem] = wf.diagnostics
    assert (problem.code, problem.step) == (code, "train")
    assert words in problem.message


@pytest.mark.parametrize("manifest", ["{", "- 1", {"x": object()}])
def test_wrong_manifests_are_reported(manifest: object) -> None:
    with couler.Workflow("w") as wf:
        couler.run_job(manifest)  # type: ignore[arg-type]
    assert [one.code for one in wf.diagnostics] == ["CLR136"]


def test_the_ancestors_entries_of_the_environment() -> None:
    entries = [
        {"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}},
        {"name": "C", "value": "c"},
    ]
    with couler.Workflow("w") as wf:
        box("a", env={"secrets": entries})
    assert only(wf).env == (
        EnvVar(name="A", secret=SecretKey(secret="s", key="k")),
        EnvVar(name="B", config=ConfigKey(config_map="c", key="k")),
        EnvVar(name="C", value="c"),
    )


def test_resources_of_the_ir_and_single_amounts_go_together() -> None:
    with couler.Workflow("w") as wf:
        box("a", resources=Resources(memory_limit="2Gi", gpu=Gpu(count=1)), memory=2**30)
        box("b", gpu=2, resources={"disk": "1Gi", "gpu": 1})
        box("c", gpu=Gpu(count=3))
    assert [step.resources for step in wf.to_ir().steps] == [
        Resources(memory="1073741824", memory_limit="2Gi", gpu=Gpu(count=1)),
        Resources(disk="1Gi", gpu=Gpu(count=2)),
        Resources(gpu=Gpu(count=3)),
    ]


def test_a_script_that_is_no_python_is_kept_as_it_is() -> None:
    with couler.Workflow("w") as wf:
        couler.run_script(source="print 'x'", args=["y"])
        couler.run_script(source='"""Only a docstring."""', args=["y"])
    first, second = (step.action.source for step in wf.to_ir().steps)
    assert first.endswith("print 'x'")
    assert second.startswith('"""Only a docstring."""\nimport os, sys')


def test_values_in_a_manifest_keep_their_types() -> None:
    with couler.Workflow("w", n=2, rate=0.5, tags=["a"]) as wf:
        first = box("first")
        job = couler.run_job(
            {
                **MANIFEST,
                "spec": {
                    "n": wf.params.n,
                    "args": ["--rate", couler.text("{}", wf.params.rate), first],
                    "tags": wf.params.tags,
                    "maybe": first["score"].or_else(None),
                },
            },
            env={"N": wf.params.n},
            step_name="train",
        )
        box("after", job)
    action = steps(wf)["train"].action
    assert action.manifest["spec"] == {
        "n": None,
        "args": ("--rate", None, None),
        "tags": None,
        "maybe": None,
        "env": ({"name": "N", "value": None},),
    }
    assert [(one.path[1:], one.type) for one in action.values] == [
        (("n",), "int"),
        (("args", 1), "str"),
        (("args", 2), "str"),
        (("tags",), "list"),
        (("maybe",), "json"),
        (("env", 0, "value"), "str"),
    ]
    assert codes(wf) == []


def test_a_file_in_a_manifest_is_reported() -> None:
    with couler.Workflow("w") as wf:
        data = box("data", output={"rows": couler.File("rows.csv")})
        couler.run_job({**MANIFEST, "spec": {"rows": data.rows}}, step_name="train")
    [problem] = wf.diagnostics
    assert (problem.code, problem.step) == ("CLR177", "train")
    assert "manifest.spec.rows" in problem.message
