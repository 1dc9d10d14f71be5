"""A project of three modules in Airflow: what its helpers do, and what runs again."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.backends.airflow import AirflowBackend
from tests.fakes.kubernetes.cluster import FakeCluster
from tests.fakes.kubernetes.images import Images
from tests.support import io_image
from tests.support.airflow_runs import Worker
from tests.support.project import CHANGES, Project
from tests.support.s3_server import S3Server

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(1200)]


@pytest.mark.parametrize("way", ["inline", "archive", "image"])
def test_only_the_steps_that_use_what_has_changed_run_again(
    way: str, airflow: Worker, s3: S3Server, tmp_path: Path
) -> None:
    project = Project(tmp_path)
    whole = {"clean", "rate", "summary"}
    known = {io_image.NAME: io_image.io_image(tmp_path / "io")}
    if way == "image":
        known["python"] = project.image(tmp_path / "image")
    with FakeCluster(tmp_path / "cluster", images=Images(known)) as cluster:
        cluster.secret("store", {"access": "test", "secret": "test"})
        for file, text, new, expected, score in [("", "", "", whole, 1.52), *CHANGES]:
            if file:
                project.change(file, text, new)
            storage = s3.storage if way == "archive" else None
            options = {"code": way, "files_claim": "files", "io_image": io_image.NAME}
            _, dag = project.compiled(AirflowBackend(), storage, **options)
            assert ("CODE = {" in dag) == (way == "inline")
            run = airflow.run(dag, "reviews", cluster=cluster)
            assert run.state == "success", run.log
            assert float(run.xcoms["summary", -1]["result"]) == score
            again = {task for task, _ in run.xcoms if ".cached" not in run.xcoms[task, -1]}
            assert again & whole == expected, file
