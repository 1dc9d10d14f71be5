"""Manifests of jobs hold to what the kinds' own definitions and admission ask for.

The schemas here state the fields of each kind that the zoo may write, without any others: those of
TFJob and PyTorchJob `kubeflow.org/v1`, MPIJob `v2beta1`, Experiment `v1beta1`, and TrainJob
`trainer.kubeflow.org/v1alpha1`. Pods are checked against the definitions of Kubernetes.
"""

from __future__ import annotations

import re
import typing as t

import jsonschema
import pytest

import couler
from couler.ir.values import filled
from couler.ir.workflow import Job
from couler.steps import katib, mpi, pytorch, tensorflow, trainer
from tests.dsl.look import problems, steps
from tests.support import argo_schema

Tree = dict[str, t.Any]

TEXT = {"type": "string", "minLength": 1}
COUNT = {"type": "integer", "minimum": 0}
POSITIVE = {"type": "integer", "minimum": 1}


def closed(required: str = "", /, **properties: object) -> Tree:
    """The schema of an object that has no other fields."""
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


def several(items: object, most: int = 128) -> Tree:
    return {"type": "array", "items": items, "minItems": 1, "maxItems": most}


def one_of(*words: str) -> Tree:
    return {"enum": list(words)}


def pod(container: str) -> Tree:
    """A pod's template, whose container the operator finds by its name."""
    named = {"properties": {"name": {"const": container}}, "required": ["name", "image"]}
    spec = {"properties": {"containers": several(named, 1)}, "required": ["containers"]}
    return closed("spec", metadata=closed(labels={}, annotations={}), spec=spec)


def replicas(container: str, one: str, *types: str) -> Tree:
    """Replicas by type, of which one type has one pod."""
    policies = one_of("Always", "OnFailure", "Never", "ExitCode")
    template = pod(container)

    def of(number: Tree) -> Tree:
        return closed(
            "replicas restartPolicy template",
            replicas=number,
            restartPolicy=policies,
            template=template,
        )

    return closed("", **{one: of({"const": 1})}, **dict.fromkeys(types, of(POSITIVE)))


POLICY = closed(
    cleanPodPolicy=one_of("Running", "All", "None"),
    activeDeadlineSeconds=POSITIVE,
    backoffLimit=COUNT,
)
NAMED_TEXT = closed("name value", name=TEXT, value={"type": "string"})
ALGORITHM = closed("algorithmName", algorithmName=TEXT, algorithmSettings=several(NAMED_TEXT))
LIST_SPACE = closed("list", list=several({"type": "string"}))
RANGE_SPACE = closed("min max", min=TEXT, max=TEXT, step=TEXT)

SPECS = {
    ("kubeflow.org/v1", "TFJob"): closed(
        "tfReplicaSpecs",
        runPolicy=POLICY,
        tfReplicaSpecs=replicas("tensorflow", "Chief", "PS", "Worker", "Evaluator"),
    ),
    ("kubeflow.org/v1", "PyTorchJob"): closed(
        "pytorchReplicaSpecs",
        runPolicy=POLICY,
        pytorchReplicaSpecs=replicas("pytorch", "Master", "Worker"),
    ),
    ("kubeflow.org/v2beta1", "MPIJob"): closed(
        "mpiReplicaSpecs",
        runPolicy=POLICY,
        slotsPerWorker=POSITIVE,
        sshAuthMountPath=TEXT,
        mpiImplementation=one_of("OpenMPI", "Intel", "MPICH"),
        mpiReplicaSpecs=replicas("mpi", "Launcher", "Worker"),
    ),
    ("kubeflow.org/v1beta1", "Experiment"): closed(
        "objective algorithm parameters trialTemplate",
        objective=closed(
            "type objectiveMetricName",
            type=one_of("maximize", "minimize"),
            objectiveMetricName=TEXT,
            goal={"type": "number"},
            additionalMetricNames=several(TEXT),
        ),
        algorithm=ALGORITHM,
        earlyStopping=ALGORITHM,
        parallelTrialCount=POSITIVE,
        maxTrialCount=POSITIVE,
        maxFailedTrialCount=COUNT,
        metricsCollectorSpec={"type": "object"},
        parameters=several(
            {
                "oneOf": [
                    closed(
                        "name parameterType feasibleSpace",
                        name=TEXT,
                        parameterType=one_of("double", "int"),
                        feasibleSpace=RANGE_SPACE,
                    ),
                    closed(
                        "name parameterType feasibleSpace",
                        name=TEXT,
                        parameterType=one_of("categorical", "discrete"),
                        feasibleSpace=LIST_SPACE,
                    ),
                ]
            }
        ),
        trialTemplate=closed(
            "primaryContainerName trialParameters trialSpec",
            primaryContainerName=TEXT,
            primaryPodLabels={"type": "object"},
            successCondition=TEXT,
            failureCondition=TEXT,
            trialParameters=several(closed("name reference", name=TEXT, reference=TEXT)),
            trialSpec={"type": "object", "required": ["apiVersion", "kind", "spec"]},
        ),
    ),
    ("trainer.kubeflow.org/v1alpha1", "TrainJob"): closed(
        "runtimeRef",
        runtimeRef=closed("name", name=TEXT, apiGroup=TEXT, kind=TEXT),
        activeDeadlineSeconds=POSITIVE,
        initializer=closed(
            dataset=closed(
                storageUri={"type": "string", "pattern": "^([A-Za-z][A-Za-z0-9+.-]*://.+|/.*)$"},
                secretRef=closed("name", name=TEXT),
            ),
            model=closed(storageUri=TEXT, secretRef=closed("name", name=TEXT)),
        ),
        trainer=closed(
            image={**TEXT, "maxLength": 500},
            command=several({"type": "string"}),
            args=several({"type": "string"}),
            env=several({"type": "object", "required": ["name"]}),
            numNodes=POSITIVE,
            numProcPerNode=POSITIVE,
            resourcesPerNode=closed(requests={}, limits={}),
        ),
        runtimePatches=several(
            closed(
                "manager",
                manager=TEXT,
                trainingRuntimeSpec=closed(
                    template=closed(
                        spec=closed(
                            replicatedJobs=several(
                                closed(
                                    "name",
                                    name={"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*)$"},
                                    template=closed(
                                        spec=closed(
                                            template=closed(
                                                spec=closed(
                                                    volumes=several({}),
                                                    containers=several(
                                                        closed(
                                                            "name",
                                                            name=TEXT,
                                                            volumeMounts=several({}),
                                                        )
                                                    ),
                                                    nodeSelector={},
                                                    tolerations=several({}),
                                                )
                                            )
                                        )
                                    ),
                                )
                            )
                        )
                    )
                ),
            ),
            16,
        ),
    ),
}

COMMON: Tree = {
    "image": "a:1",
    "args": ["--fast", 3],
    "env": {"A": "b", "N": 3},
    "secret": "hub",
    "resources": "cpu=2,memory=4096,gpu=1",
    "volume_mounts": [couler.VolumeMount("data", "/data", read_only=True)],
    "node_selector": {"pool": "gpu"},
    "tolerations": [couler.Toleration("gpu", "NoSchedule", "Exists", seconds=None)],
    "timeout": "1h",
    "step_name": "A_step_of-mine",
}
LABELS: Tree = {"pod_labels": {"team": "ml"}, "pod_annotations": {"note": "x"}}
TUNED: t.Any = [
    {"name": "--lr", "type": "double", "range": [0.01, 0.03]},
    {"name": "--layers", "type": "int", "range": [1, 9, 2]},
    {"name": "kind", "type": "categorical", "range": ["a", "b"]},
    {"name": "size", "type": "discrete", "range": [16, 32]},
]
CALLS: dict[str, t.Callable[[], object]] = {
    "tf": lambda: tensorflow.train(
        command="python t.py",
        no_chief=False,
        num_ps=1,
        num_workers=2,
        num_evaluators=1,
        model_path="/m",
        input_rate=0.1,
        **{**COMMON, **LABELS},
    ),
    "tf-least": lambda: tensorflow.train("a:1", num_workers=1),
    "pytorch": lambda: pytorch.train(
        command='cd /srv && exec python t.py "$@"', num_workers=2, **{**COMMON, **LABELS}
    ),
    "pytorch-least": lambda: pytorch.train("a:1"),
    "mpi": lambda: mpi.train(
        command=["mpirun", "-n", 2, "t"],
        implementation="Intel",
        ssh_auth_mount_path="/ssh",
        **{**COMMON, **LABELS},
    ),
    "mpi-least": lambda: mpi.train("a:1"),
    "katib": lambda: katib.run(
        None,
        TUNED,
        {
            "type": "minimize",
            "metric_name": "loss",
            "goal": 0.1,
            "additional_metric_names": ["acc"],
        },
        command="python t.py",
        algorithm_settings={"seed": 3},
        early_stopping="medianstop",
        early_stopping_settings={"start_step": 3},
        metrics_collector={"collector": {"kind": "StdOut"}},
        **COMMON,
    ),
    "trainer": lambda: trainer.train(
        command="torchrun t.py",
        num_nodes=2,
        procs_per_node=4,
        dataset_uri="hf://set",
        dataset_secret="hub",
        pretrained_uri="hf://model",
        pretrained_secret="hub",
        queue="team",
        input_rate=0.1,
        **COMMON,
    ),
    "trainer-least": lambda: trainer.train(),
}


def made(call: t.Callable[[], object]) -> Tree:
    with couler.Workflow("w") as wf:
        couler.obtain_secret(["TOKEN"], name="hub")
        couler.add_volume(couler.Volume("data", claim_name="sets"))
        call()
    assert [str(one) for one in problems(wf)] == []
    [step] = steps(wf).values()
    assert isinstance(step.action, Job)
    given = [(one.path, "a value") for one in step.action.values]
    return filled(step.action.manifest, given)


def pods(tree: object) -> t.Iterator[Tree]:
    """Every pod's specification in a manifest."""
    if isinstance(tree, dict):
        if "containers" in tree:
            yield tree
        for one in tree.values():
            yield from pods(one)
    elif isinstance(tree, list):
        for one in tree:
            yield from pods(one)


@pytest.mark.parametrize("name", CALLS)
def test_the_fields_are_those_of_the_kind(name: str) -> None:
    found = made(CALLS[name])
    jsonschema.validate(found["spec"], SPECS[found["apiVersion"], found["kind"]])
    prefix = found["metadata"]["generateName"]
    assert re.fullmatch(r"[a-z]([-a-z0-9]*)-", prefix)
    assert len(f"{prefix}abcde-launcher-100") <= 63


@pytest.mark.parametrize("name", CALLS)
def test_pods_are_those_of_kubernetes(name: str) -> None:
    workflow = argo_schema.schema("Workflow")["properties"]["spec"]["properties"]
    template = workflow["templates"]["items"]["properties"]
    container = closed_schema(template["container"])
    volume = closed_schema(workflow["volumes"]["items"])
    toleration = closed_schema(workflow["tolerations"]["items"])
    found = made(CALLS[name])
    for spec in pods(found["spec"]):
        for one in spec["containers"]:
            jsonschema.validate({**one, "image": one.get("image", "runtime")}, container)
        for one in spec.get("volumes", ()):
            jsonschema.validate(one, volume)
        for one in spec.get("tolerations", ()):
            jsonschema.validate(one, toleration)
        allowed = {"containers", "volumes", "tolerations", "nodeSelector", "restartPolicy"}
        assert set(spec) <= allowed


def closed_schema(schema: Tree) -> Tree:
    """A schema that takes no unknown fields on its first level."""
    return {**schema, "additionalProperties": False}


def test_data_is_fetched_from_a_uri() -> None:
    with couler.Workflow("w") as wf:
        trainer.train("r", dataset_uri="tatsu-lab/alpaca", step_name="fit")
    [problem] = problems(wf)
    assert (problem.code, problem.step) == ("CLR105", "fit")
    assert "hf://tatsu-lab/alpaca" in problem.message
