"""The zoo under Argo itself: its linter takes what steps become, its executor makes the jobs."""

from __future__ import annotations

from pathlib import Path

import pytest

import couler
from couler import stages
from couler.stages.programs import load_program
from couler.steps import katib, mpi, pytorch, sklearn, tensorflow, trainer
from tests.fakes.kubernetes.store import Json
from tests.support import argo_oracle
from tests.support.argo_oracle import Resource

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800), pytest.mark.usefixtures("oracle")]

PROGRAMS = Path(__file__).parents[1] / "programs"


@pytest.mark.parametrize("name", ["listing_6.py", "listing_7.py"])
def test_argo_lint_takes_the_listings_of_the_paper(name: str, tmp_path: Path) -> None:
    file = tmp_path / "workflow.yaml"
    file.write_text(stages.compile(load_program(str(PROGRAMS / name)), "argo").to_text())
    [verdict] = argo_oracle.lint([file])
    assert verdict.errors == ()


def kubeflow(version: str, plural: str) -> Resource:
    return Resource("kubeflow.org", version, plural)


def succeeded(kind: str, number: int) -> Json:
    return {"replicaStatuses": {kind: {"succeeded": number}}, "completionTime": "then"}


def best_trial(sent: Json) -> Json:
    tuned = sent["spec"]["parameters"][0]
    value = tuned["feasibleSpace"]["max"]
    return {
        "completionTime": "then",
        "trialsSucceeded": 12,
        "currentOptimalTrial": {
            "bestTrialName": "trial-7",
            "parameterAssignments": [{"name": tuned["name"], "value": value}],
            "observation": {"metrics": [{"name": "accuracy", "min": "0.1", "max": "0.97"}]},
        },
    }


RESOURCES = {
    kubeflow("v1", "tfjobs"): lambda sent: succeeded("Worker", 2),
    kubeflow("v1", "pytorchjobs"): lambda sent: succeeded("Master", 1),
    kubeflow("v2beta1", "mpijobs"): lambda sent: succeeded("Launcher", 1),
    kubeflow("v1beta1", "experiments"): best_trial,
    Resource("trainer.kubeflow.org", "v1alpha1", "trainjobs"): lambda sent: {
        "conditions": [{"type": "Complete", "status": "True", "reason": "AllJobsCompleted"}]
    },
}


def test_jobs_are_created_and_their_fields_read(tmp_path: Path) -> None:
    with couler.Workflow("w", epochs=3) as wf:
        best = katib.run(
            tuning_params=[{"name": "--lr", "type": "double", "range": [0.01, 0.03]}],
            objective={"type": "maximize", "metric_name": "accuracy"},
            image="a:1",
            command="train",
            step_name="tune",
        )
        fitted = pytorch.train(
            "a:1",
            "train",
            num_workers=1,
            input_lr=best.best_lr,
            model_path=couler.text("s3://m/{}", best),
            step_name="fit",
        )
        others = [
            tensorflow.train("a:1", "x", num_workers=2, input_epochs=wf.params.epochs),
            mpi.train("a:1", ["mpirun", "x"]),
        ]
        trained = trainer.train("torch-distributed", num_nodes=wf.params.epochs)
        wf.output("path", fitted)
        wf.output("best", best.best_value)
        wf.output("parameters", best.best_parameters)
        wf.output("reason", trained.reason)
        wf.output("names", couler.text("{} {}", *others))
    text = wf.compile("argo").to_text()
    file = tmp_path / "workflow.yaml"
    file.write_text(text)
    [verdict] = argo_oracle.lint([file])
    assert verdict.errors == ()
    with argo_oracle.session(tmp_path / "run", resources=RESOURCES) as argo:
        run = argo.run(text)
        created = {resource.plural: argo.objects(resource) for resource in RESOURCES}
    assert run.phase == "Succeeded", [(one.display_name, one.message) for one in run.nodes]
    assert {name: len(found) for name, found in created.items()} == dict.fromkeys(created, 1)
    found = run.root.outputs
    assert (found["path"], float(found["best"])) == ("s3://m/trial-7", 0.97)
    assert found["parameters"] == '[{"name":"--lr","value":"0.03"}]'
    assert found["reason"] == "AllJobsCompleted"
    assert found["names"].startswith("tensorflow-train-")
    [job] = created["pytorchjobs"]
    assert job["metadata"]["annotations"] == {"couler/model-path": "s3://m/trial-7"}
    for replica in job["spec"]["pytorchReplicaSpecs"].values():
        [main] = replica["template"]["spec"]["containers"]
        assert main["args"] == ["--lr=0.03"]
        assert main["env"] == [{"name": "MODEL_PATH", "value": "s3://m/trial-7"}]
    [job] = created["trainjobs"]
    assert job["spec"]["trainer"] == {"numNodes": 3}


def test_a_failed_job_fails_its_step(tmp_path: Path) -> None:
    with couler.Workflow("w") as wf:
        mpi.train("a:1", ["mpirun", "x"], backoff_limit=2, step_name="fit")
    status = {"replicaStatuses": {"Launcher": {"failed": 3}}}
    resources = {kubeflow("v2beta1", "mpijobs"): lambda sent: status}
    text = wf.compile("argo").to_text()
    run = argo_oracle.run(text, work_dir=tmp_path, resources=resources)
    assert run.phase == "Failed"
    assert "status.replicaStatuses.Launcher.failed gt [2]" in run.node("fit").message


def test_models_are_trained_in_a_container_as_here(tmp_path: Path) -> None:
    with couler.Workflow("w", strength=2.0) as wf:
        trained = sklearn.train(
            "LogisticRegression",
            couler.Dataset(name="iris"),
            {"C": wf.params.strength, "max_iter": 500},
            image="any",
        )
        wf.output("score", trained.score)
    run = argo_oracle.run(wf.compile("argo").to_text(), work_dir=tmp_path)
    assert run.phase == "Succeeded", [(one.display_name, one.message) for one in run.nodes]
    here = wf.run()
    assert float(run.root.outputs["score"]) == here.outputs["score"]
