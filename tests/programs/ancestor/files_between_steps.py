# Values and files between steps: outputs of both kinds in one list, read by name and by position.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter


def train():
    return couler.run_container(
        image="alpine:3.20",
        command=["sh", "-c"],
        args=["echo weights > model.bin; echo 0.93 > score.txt; echo trained"],
        output=[
            couler.create_parameter_artifact(path="score.txt"),
            couler.create_local_artifact(path="model.bin"),
        ],
        working_dir=".",
        step_name="train",
    )


def deploy(outputs):
    return couler.run_script(
        image="alpine:3.20",
        command="sh",
        source='echo "$1: $(cat "$2")"',
        args=outputs,
        step_name="deploy",
    )


outputs = train()
assert outputs[0].path == "score.txt"  # what the program sees of an output: where it is written
deploy(outputs)
couler.when(couler.bigger(outputs, 0.9), lambda: deploy(list(outputs)))

couler.run(submitter=ArgoSubmitter())
