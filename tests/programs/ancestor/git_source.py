# The working tree of a Git repository is what a step tests; its report is kept as a file.
import os

import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter

REPO = os.environ.get("REPO", "https://example.org/team/model.git")

source = couler.GitArtifact("/tmp/source", repo=REPO, revision="v1")


def check():
    return couler.run_container(
        image="alpine:3.20",
        command=["sh", "-c", "cat /tmp/source/VERSION; wc -l < /tmp/source/train.py > lines.txt"],
        input=[source],
        output=[couler.create_parameter_artifact(path="lines.txt", type=int)],
        working_dir=".",
        step_name="check",
    )


def tell(lines):
    return couler.run_container(
        image="alpine:3.20", command=["echo", "lines:"], args=[lines], step_name="tell"
    )


tell(check())

couler.run(submitter=ArgoSubmitter())
