"""Steps that create training jobs: what the jobs are, when they end, and what runs without them."""

from __future__ import annotations

import typing as t

import pytest

import couler
from couler.ir.storage import ConfigKey, SecretKey
from couler.ir.values import Compare, ItemRef, Literal, ParamRef, Template, filled
from couler.ir.workflow import Container, Job, Step
from couler.steps import katib, mpi, pytorch, tensorflow, trainer
from tests.dsl.look import box, codes, problems, steps

Tree = dict[str, t.Any]


def manifest(step: Step) -> Tree:
    """The manifest with its values in it, which are nodes of the IR."""
    assert isinstance(step.action, Job)
    return filled(step.action.manifest, [(one.path, one.value) for one in step.action.values])


def only(workflow: couler.Workflow, name: str) -> Step:
    assert [str(one) for one in problems(workflow)] == []
    return steps(workflow)[name]


def container(replica: Tree) -> Tree:
    [found] = replica["template"]["spec"]["containers"]
    return t.cast(Tree, found)


def test_tensorflow() -> None:
    with couler.Workflow("w", batch=100) as wf:
        tensorflow.train(
            image="wide-deep-model:v1.0",
            command="python /train_model.py",
            num_ps=1,
            num_workers=2,
            worker_resources="cpu=0.5,memory=1024,gpu=1",
            ps_image="ps:1",
            input_batch_size=wf.params.batch,
            hyperparameters={"rate": 0.1, "seed": 7},
            timeout="1h",
            step_name="fit",
        )
    step = only(wf, "fit")
    found = manifest(step)
    assert (found["apiVersion"], found["kind"]) == ("kubeflow.org/v1", "TFJob")
    assert found["metadata"] == {"generateName": "fit-"}
    spec = found["spec"]
    assert spec["runPolicy"] == {"cleanPodPolicy": "Running", "activeDeadlineSeconds": 3600}
    assert list(spec["tfReplicaSpecs"]) == ["PS", "Worker"]
    ps, worker = spec["tfReplicaSpecs"]["PS"], spec["tfReplicaSpecs"]["Worker"]
    assert (ps["replicas"], ps["restartPolicy"], worker["replicas"]) == (1, "Never", 2)
    assert container(ps)["image"] == "ps:1"
    main = container(worker)
    assert (main["name"], main["image"]) == ("tensorflow", "wide-deep-model:v1.0")
    assert main["command"] == ["python", "/train_model.py"]
    batch = Template(parts=("--", Literal(value="batch_size"), "=", ParamRef(name="batch")))
    assert main["args"] == ["--rate=0.1", "--seed=7", batch]
    amounts = {"cpu": "0.5", "memory": "1024Mi"}
    assert main["resources"] == {"limits": {**amounts, "nvidia.com/gpu": 1}}
    assert step.action.success_condition == "status.replicaStatuses.Worker.succeeded == 2"
    assert step.action.failure_condition == (
        "status.replicaStatuses.PS.failed > 0,status.replicaStatuses.Worker.failed > 0"
    )
    assert step.timeout_s == 3600


def test_a_chief_decides_and_evaluators_are_pods_too() -> None:
    with couler.Workflow("w") as wf:
        tensorflow.train(
            "a:1", "x", no_chief=False, chief_command=["chief"], num_workers=1, num_evaluators=1
        )
    step = only(wf, "tensorflow-train")
    replicas = manifest(step)["spec"]["tfReplicaSpecs"]
    assert list(replicas) == ["Chief", "Worker", "Evaluator"]
    assert container(replicas["Chief"])["command"] == ["chief"]
    assert step.action.success_condition == "status.replicaStatuses.Chief.succeeded == 1"


def test_pytorch_with_environment_secrets_volumes_and_nodes() -> None:
    with couler.Workflow("w", rate=0.5) as wf:
        couler.obtain_secret(["USER", "TOKEN"], name="registry")
        couler.add_volume(couler.Volume("data", claim_name="sets", read_only=True))
        pytorch.train(
            image="torch:2",
            command="cd /srv && python train.py",
            num_workers=3,
            gpu=couler.Gpu(2, "a100"),
            env={
                "RATE": wf.params.rate,
                "N": 3,
                "KEY": SecretKey(secret="s", key="k"),
                "REGION": ConfigKey(config_map="c", key="r"),
            },
            secret=["registry", "unknown-keys"],
            volume_mounts=[
                couler.VolumeMount("data", "/data", read_only=True),
                couler.VolumeMount("scratch", "/scratch", sub_path="a"),
            ],
            node_selector={"pool": "gpu"},
            tolerations=[couler.Toleration("gpu", "NoSchedule", "Exists")],
            pod_labels={"team": "ml"},
            pod_annotations={"sidecar.istio.io/inject": "false"},
            retry=2,
            step_name="fit",
        )
    step = only(wf, "fit")
    replicas = manifest(step)["spec"]["pytorchReplicaSpecs"]
    assert {name: one["replicas"] for name, one in replicas.items()} == {"Master": 1, "Worker": 3}
    template = replicas["Worker"]["template"]
    assert template["metadata"] == {
        "labels": {"team": "ml"},
        "annotations": {"sidecar.istio.io/inject": "false"},
    }
    main = container(replicas["Worker"])
    assert main["command"] == ["sh", "-c", "cd /srv && python train.py"]
    assert "args" not in main
    assert main["env"] == [
        {"name": "RATE", "value": Template(parts=(ParamRef(name="rate"),))},
        {"name": "N", "value": "3"},
        {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        {"name": "REGION", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "r"}}},
        {"name": "USER", "valueFrom": {"secretKeyRef": {"name": "registry", "key": "USER"}}},
        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "registry", "key": "TOKEN"}}},
    ]
    assert main["envFrom"] == [{"secretRef": {"name": "unknown-keys"}}]
    assert main["resources"] == {"limits": {"nvidia.com/gpu": 2}}
    assert main["volumeMounts"] == [
        {"name": "data", "mountPath": "/data", "readOnly": True},
        {"name": "scratch", "mountPath": "/scratch", "subPath": "a"},
    ]
    pod = template["spec"]
    assert pod["volumes"] == [
        {"name": "data", "persistentVolumeClaim": {"claimName": "sets", "readOnly": True}},
        {"name": "scratch", "emptyDir": {}},
    ]
    assert pod["nodeSelector"] == {"pool": "gpu", "nvidia.com/gpu.product": "a100"}
    assert pod["tolerations"] == [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}]
    assert step.action.success_condition == "status.replicaStatuses.Master.succeeded == 1"
    assert step.retry.limit == 2


def test_volumes_of_other_kinds() -> None:
    kinds = [
        couler.SecretVolume("keys", secret="deploy"),
        couler.ConfigVolume("settings", config_map="site"),
        couler.HostVolume("disk", path="/mnt"),
        couler.ScratchVolume("fast", size="1Gi", in_memory=True),
    ]
    with couler.Workflow("w") as wf:
        for volume in kinds:
            couler.add_volume(volume)
        mounts = [couler.VolumeMount(one.name, f"/{one.name}") for one in kinds]
        pytorch.train("a:1", "x", volume_mounts=mounts)
    pod = manifest(only(wf, "pytorch-train"))["spec"]["pytorchReplicaSpecs"]["Master"]["template"]
    assert pod["spec"]["volumes"] == [
        {"name": "keys", "secret": {"secretName": "deploy"}},
        {"name": "settings", "configMap": {"name": "site"}},
        {"name": "disk", "hostPath": {"path": "/mnt"}},
        {"name": "fast", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
    ]


def test_mpi() -> None:
    with couler.Workflow("w") as wf:
        mpi.train(
            image="mpi:1",
            command=["mpirun", "-n", "2", "train"],
            num_workers=2,
            worker_command="/usr/sbin/sshd -De",
            args=["--fast"],
            backoff_limit=3,
            implementation="MPICH",
            ssh_auth_mount_path="/home/mpiuser/.ssh",
        )
    step = only(wf, "mpi-train")
    found = manifest(step)
    assert (found["apiVersion"], found["kind"]) == ("kubeflow.org/v2beta1", "MPIJob")
    spec = found["spec"]
    assert {name: spec[name] for name in ("slotsPerWorker", "mpiImplementation")} == {
        "slotsPerWorker": 1,
        "mpiImplementation": "MPICH",
    }
    assert spec["sshAuthMountPath"] == "/home/mpiuser/.ssh"
    assert spec["runPolicy"] == {"cleanPodPolicy": "Running", "backoffLimit": 3}
    launcher, worker = (container(spec["mpiReplicaSpecs"][one]) for one in ("Launcher", "Worker"))
    assert (launcher["command"], launcher["args"]) == (["mpirun", "-n", "2", "train"], ["--fast"])
    assert (worker["command"], "args" in worker) == (["/usr/sbin/sshd", "-De"], False)
    assert step.action.success_condition == "status.replicaStatuses.Launcher.succeeded == 1"
    # Only the launcher's end is the job's, after it has been tried so often.
    assert step.action.failure_condition == "status.replicaStatuses.Launcher.failed > 3"
    assert step.action.local is None


def test_trainer() -> None:
    with couler.Workflow("w", nodes=2) as wf:
        couler.obtain_secret(["HF_TOKEN"], name="hub")
        job = trainer.train(
            "torch-distributed",
            image="tune:1",
            command="torchrun train.py",
            num_nodes=wf.params.nodes,
            secret="hub",
            dataset_uri="hf://set",
            dataset_secret="hub",
            pretrained_uri="hf://model",
            queue="team",
            gpu=4,
            volume_mounts=[couler.VolumeMount("scratch", "/scratch")],
            timeout=60,
            input_epochs=3,
        )
        box("why", job.reason)
    step = only(wf, "trainer-train")
    found = manifest(step)
    assert (found["apiVersion"], found["kind"]) == ("trainer.kubeflow.org/v1alpha1", "TrainJob")
    assert found["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "team"}
    spec = found["spec"]
    assert spec["runtimeRef"] == {
        "apiGroup": "trainer.kubeflow.org",
        "kind": "ClusterTrainingRuntime",
        "name": "torch-distributed",
    }
    assert spec["initializer"] == {
        "dataset": {"storageUri": "hf://set", "secretRef": {"name": "hub"}},
        "model": {"storageUri": "hf://model"},
    }
    assert spec["trainer"] == {
        "image": "tune:1",
        "command": ["torchrun", "train.py"],
        "args": ["--epochs=3"],
        "env": [
            {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "HF_TOKEN"}}}
        ],
        "numNodes": ParamRef(name="nodes"),
        "resourcesPerNode": {"limits": {"nvidia.com/gpu": 4}},
    }
    assert spec["activeDeadlineSeconds"] == 60
    [patch] = spec["runtimePatches"]
    [node] = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    assert node["name"] == "node"
    assert node["template"]["spec"]["template"]["spec"]["containers"] == [
        {"name": "node", "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}]}
    ]
    # The queue's condition, that the job is suspended, comes first.
    assert step.action.success_condition == "status.conditions.1.type == Complete"


def test_a_runtime_alone_is_a_trainjob_without_a_local_form() -> None:
    with couler.Workflow("w") as wf:
        trainer.train("mine", namespaced=True)
    step = only(wf, "trainer-train")
    spec = manifest(step)["spec"]
    assert spec["runtimeRef"]["kind"] == "TrainingRuntime"
    assert spec["trainer"] == {"numNodes": 1}
    assert set(spec) == {"runtimeRef", "trainer"}
    assert step.action.local is None
    assert step.action.failure_condition == (
        "status.conditions.0.type == Failed,status.conditions.1.type == Failed,"
        "status.conditions.2.type == Failed"
    )


TUNED: list[t.Any] = [
    {"name": "--lr", "type": "double", "range": [0.01, 0.03, 0.01]},
    {"name": "num-layers", "type": "int", "range": [2, 6, 2]},
    {"name": "--optimizer", "type": "categorical", "range": ["sgd", "adam"]},
]
OBJECTIVE: t.Any = {
    "type": "minimize",
    "metric_name": "loss",
    "goal": 0.1,
    "additional_metric_names": ["accuracy"],
}


def test_katib_with_a_job_of_its_own() -> None:
    with couler.Workflow("w", epochs=2) as wf:
        best = katib.run(
            tuning_params=TUNED,
            objective=OBJECTIVE,
            algorithm="grid",
            algorithm_settings={"seed": 7},
            early_stopping="medianstop",
            max_failed_trial_count=1,
            image="train:1",
            command="python train.py",
            input_epochs=wf.params.epochs,
            cpu=1,
            step_name="tune",
        )
        box("use", best, best.best_lr, best.best_num_layers, best.best_optimizer, best.best_value)
        box("all", couler.text("{}", best.best_parameters))
    step = only(wf, "tune")
    found = manifest(step)
    assert (found["apiVersion"], found["kind"]) == ("kubeflow.org/v1beta1", "Experiment")
    spec = found["spec"]
    assert spec["objective"] == {
        "type": "minimize",
        "objectiveMetricName": "loss",
        "goal": 0.1,
        "additionalMetricNames": ["accuracy"],
    }
    assert spec["algorithm"] == {
        "algorithmName": "grid",
        "algorithmSettings": [{"name": "seed", "value": "7"}],
    }
    assert spec["earlyStopping"] == {"algorithmName": "medianstop"}
    counts = ("parallelTrialCount", "maxTrialCount", "maxFailedTrialCount")
    assert [spec[name] for name in counts] == [3, 12, 1]
    assert spec["parameters"][:2] == [
        {
            "name": "--lr",
            "parameterType": "double",
            "feasibleSpace": {"min": "0.01", "max": "0.03", "step": "0.01"},
        },
        {
            "name": "num-layers",
            "parameterType": "int",
            "feasibleSpace": {"min": "2", "max": "6", "step": "2"},
        },
    ]
    template = spec["trialTemplate"]
    assert template["trialParameters"] == [
        {"name": "lr", "reference": "--lr"},
        {"name": "num-layers", "reference": "num-layers"},
        {"name": "optimizer", "reference": "--optimizer"},
    ]
    pod = template["trialSpec"]["spec"]["template"]["spec"]
    assert pod["restartPolicy"] == "Never"
    assert pod["containers"][0]["name"] == template["primaryContainerName"]
    assert pod["containers"][0]["args"][:3] == [
        "--lr=${trialParameters.lr}",
        "--num-layers=${trialParameters.num-layers}",
        "--optimizer=${trialParameters.optimizer}",
    ]
    assert step.action.success_condition == "status.completionTime"
    assert step.action.failure_condition.startswith(
        "status.trialsFailed > 1,status.conditions.0.type == Failed,"
    )
    read = {one.name: (one.json_path, one.type) for one in step.outputs}
    optimal = "{.status.currentOptimalTrial"
    assert read == {
        "best_trial": (f"{optimal}.bestTrialName}}", "str"),
        "best_lr": (f'{optimal}.parameterAssignments[?(@.name=="--lr")].value}}', "float"),
        "best_num_layers": (
            f'{optimal}.parameterAssignments[?(@.name=="num-layers")].value}}',
            "int",
        ),
        "best_optimizer": (
            f'{optimal}.parameterAssignments[?(@.name=="--optimizer")].value}}',
            "str",
        ),
        "best_value": (f'{optimal}.observation.metrics[?(@.name=="loss")].min}}', "float"),
        "best_parameters": (f"{optimal}.parameterAssignments}}", "json"),
    }


TRIAL = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
spec: {args: ["--lr=${trialParameters.lr}", "${trialParameters.num-layers}"]}
"""


def test_katib_with_a_template() -> None:
    with couler.Workflow("w") as wf:
        katib.run(
            TRIAL, TUNED[:2], OBJECTIVE, "status.trialsSucceeded > 4", "status.trialsFailed > 9",
            primary_container="pytorch", primary_pod_labels={"role": "master"},
        )  # fmt: skip
    step = only(wf, "katib-run")
    template = manifest(step)["spec"]["trialTemplate"]
    assert template["trialSpec"]["kind"] == "PyTorchJob"
    assert template["primaryPodLabels"] == {"role": "master"}
    assert step.action.success_condition == "status.trialsSucceeded > 4"
    assert step.action.failure_condition == "status.trialsFailed > 9"


@pytest.mark.parametrize(
    ("call", "code", "words"),
    [
        (lambda: tensorflow.train("a:1", "x", num_ps=1), "CLR105", "no Chief and no Worker"),
        (lambda: tensorflow.train("a:1", "x", num_workers=-1), "CLR105", "-1 Worker replicas"),
        (lambda: pytorch.train(command="x"), "CLR101", '"image" is missing'),
        (lambda: pytorch.train("a:1", "x", num_worker=2), "CLR104", 'Did you mean "num_workers"'),
        (lambda: pytorch.train("a:1", "x", timeout="soon"), "CLR105", "no duration"),
        (lambda: pytorch.train("a:1", "x", resources="cpu"), "CLR105", "cpu=0.5"),
        (lambda: pytorch.train("a:1", "x", clean_pod_policy="Most"), "CLR107", "'Running'"),
        (lambda: mpi.train("a:1", "x", local=True), "CLR105", "several machines"),
        (lambda: mpi.train("a:1", "x", slots_per_worker=0), "CLR105", "slots_per_worker is 0"),
        (lambda: mpi.train("a:1", "x", backoff_limit=-1), "CLR105", "backoff_limit is -1"),
        (lambda: trainer.train("r", num_nodes=0), "CLR105", "num_nodes is 0"),
        (
            lambda: pytorch.train("a:1", "x", env={"MODEL_PATH": "a"}, model_path="b"),
            "CLR105",
            "both model_path and env",
        ),
        (lambda: pytorch.train("a:1", "x", input_a=1, hyperparameters={"a": 1}), "CLR105", "twice"),
        (lambda: pytorch.train("a:1", "x", input_a=None), "CLR105", "is None"),
        (lambda: pytorch.train("a:1", "x", input_a=float("nan")), "CLR105", "nan"),
        (lambda: pytorch.train(3, "x"), "CLR107", "must be str | None, not 3"),
        (lambda: tensorflow.train("a:1", "x", num_workers="2"), "CLR107", "must be int"),
        (lambda: pytorch.train("a:1", "x", rate=1), "CLR104", 'begin with "input_" are passed on'),
        (lambda: pytorch.train("a:1", "x", owner_reference=1), "CLR104", '"set_owner_reference"?'),
        (lambda: trainer.train("r", secret="nokeys"), "CLR105", "couler.obtain_secret"),
        (lambda: katib.run(TRIAL, objective=OBJECTIVE), "CLR105", "names no hyperparameter"),
        (lambda: katib.run(TRIAL, TUNED[:2]), "CLR101", '"objective" is missing'),
        (lambda: katib.run(TRIAL, TUNED, OBJECTIVE), "CLR105", "no ${trialParameters.optimizer}"),
        (lambda: katib.run("{{.Trial}}", TUNED, OBJECTIVE), "CLR136", "no longer takes"),
        (lambda: katib.run("- 1", TUNED, OBJECTIVE), "CLR136", "must be one object"),
        (
            lambda: katib.run(TRIAL, [{**TUNED[0], "range": [1]}, TUNED[1]], OBJECTIVE),
            "CLR105",
            'range of "--lr"',
        ),
        (
            lambda: katib.run(TRIAL, [{**TUNED[0], "type": "real"}], OBJECTIVE),
            "CLR107",
            "(0.type: Input should be 'double'",
        ),
    ],
)
def test_mistakes_are_reported(call: t.Callable[[], object], code: str, words: str) -> None:
    with couler.Workflow("w") as wf:
        call()
    [problem] = problems(wf)
    assert problem.code == code
    assert words in problem.message


def test_a_claim_of_the_run_is_none_of_a_job() -> None:
    with couler.Workflow("w") as wf:
        couler.create_workflow_volume(couler.VolumeClaimTemplate("work"))
        pytorch.train("a:1", "x", volume_mounts=[couler.VolumeMount("work", "/work")])
    assert codes(wf) == ["CLR105"]


def test_a_job_in_a_map_and_its_readers() -> None:
    with couler.Workflow("w") as wf:
        models = couler.map(
            lambda rate: pytorch.train(
                "a:1", "x", input_rate=rate, model_path=couler.text("s3://m/{}", rate)
            ),
            [0.1, 0.2],
        )
        box("names", models.job_name)
        couler.map(lambda path: box("judge", path), models)
    step = only(wf, "pytorch-train")
    assert step.foreach is not None
    assert all(ItemRef(name="rate") in one.value.parts for one in step.action.values)
    assert [one.name for one in step.outputs] == ["job_name", "model_path"]
    assert steps(wf)["judge"].foreach is not None


def test_the_local_form_runs_the_program_alone() -> None:
    program = (
        "import os, sys; print(os.environ['RANK'], os.environ['WORLD_SIZE'], os.environ['A'], "
        "*sys.argv[1:])"
    )
    with couler.Workflow("w", rate=0.5) as wf:
        couler.obtain_secret(["TOKEN"], name="hub")
        pytorch.train(
            "torch:2",
            ["python", "-c", program],
            num_workers=7,
            gpu=8,
            env={"A": "a b"},
            secret="hub",
            args=["first"],
            input_rate=wf.params.rate,
            step_name="fit",
        )
    form = only(wf, "fit").action.local
    assert isinstance(form.action, Container)
    assert form.action.command[3:] == ("sh", "python", "-c", program)
    assert form.action.args[0] == "first"
    given = {one.name: one.value or one.secret for one in form.env}
    assert given["TOKEN"] == SecretKey(secret="hub", key="TOKEN")
    assert (given["WORLD_SIZE"], given["JOB_NAME"]) == ("1", "fit")
    assert form.resources is None


def test_a_local_run_gives_the_outputs_of_a_job() -> None:
    with couler.Workflow("w", rate=0.5) as wf:
        trained = tensorflow.train(
            "tf:2",
            "test -z $RANK && test $1 = --rate=0.5 && echo trained",
            num_workers=2,
            input_rate=wf.params.rate,
            model_path=couler.text("/models/{}", wf.params.rate),
            step_name="fit",
        )
        told = couler.run_container("busybox", ["echo"], args=[trained, trained.job_name])
        wf.output("told", told)
    assert codes(wf) == []
    result = wf.run()
    assert result.status == "succeeded", result.to_json()
    assert result.outputs["told"] == "/models/0.5 fit"


@pytest.mark.parametrize("local", [False, couler.LocalForm(command=["echo", "here"])])
def test_the_local_form_can_be_another_or_none(local: t.Any) -> None:
    with couler.Workflow("w") as wf:
        pytorch.train("a:1", "x", local=local)
    form = only(wf, "pytorch-train").action.local
    assert (form is None) is (local is False)
    assert form is None or form.action.command == ("echo", "here")


def test_what_a_job_gives_can_be_compared() -> None:
    with couler.Workflow("w") as wf:
        best = katib.run(TRIAL, TUNED[:2], OBJECTIVE)
        with couler.when(best.best_value < 0.2):
            box("publish")
    condition = steps(wf)["publish"].when
    assert isinstance(condition, Compare)
    assert codes(wf) == []
