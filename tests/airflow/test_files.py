"""Files of real DAG runs: in a storage, and from places that only the helper reaches."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.base import Target
from couler.ir.artifacts import GitLocation, HttpHeader, HttpLocation, S3Location, Tar
from couler.ir.defaults import fill_locations, resolve_defaults
from couler.ir.policies import Cache
from couler.ir.storage import SecretKey
from couler.ir.values import Template
from couler.ir.workflow import Input, Output, Workflow
from couler.stages.checks import check_engine
from tests.corpus.build import flow, given, item, out, param, parameter, ref, sh
from tests.fakes.kubernetes.cluster import FakeCluster
from tests.fakes.kubernetes.images import Images
from tests.support.airflow_runs import AirflowRun, Worker
from tests.support.io_image import NAME, io_image
from tests.support.s3_server import S3Server
from tests.support.web_site import Site

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(1800), pytest.mark.sampled(2)]

BACKEND = AirflowBackend()


@pytest.fixture
def with_helper(tmp_path: Path) -> Iterator[FakeCluster]:
    images = Images({NAME: io_image(tmp_path / "image")})
    with FakeCluster(tmp_path / "cluster", images=images) as cluster:
        yield cluster


def run(workflow: Workflow, target: Target, airflow: Worker, cluster: FakeCluster) -> AirflowRun:
    workflow = fill_locations(resolve_defaults(workflow), target.storages)
    assert check_engine(workflow, BACKEND, target) == ()
    text = BACKEND.compile(workflow, target).to_text()
    return airflow.run(text, workflow.name, cluster=cluster)


# in a storage -------------------------------------------------------------------------------------


def test_files_are_kept_in_a_storage(
    s3: S3Server, airflow: Worker, with_helper: FakeCluster
) -> None:
    with_helper.secret("store", {"access": "test", "secret": "test"})
    target = Target(options={"io_image": NAME, "files_path": "flows"}, storages={"s3": s3.storage})
    tell = 'if [ -e "$COULER_INPUT_f" ]; then cat "$COULER_INPUT_f"; else echo none; fi'
    workflow = flow(
        "in-store",
        sh(
            "write",
            'cd "$COULER_WORK"; echo "$1" > f; [ "$1" = a ] || echo more > g',
            item(),
            foreach=["a", "b"],
            outputs=[
                out("f", "file", "f"),
                Output(
                    name="g",
                    type="file",
                    path="g",
                    optional=True,
                    at=S3Location(key=Template(parts=("given/", item()))),
                ),
            ],
        ),
        sh(
            "folder",
            'mkdir -p "$COULER_WORK/d/e"; echo 1 > "$COULER_WORK/d/e/x"',
            outputs=[
                out("d", "directory", "d"),
                Output(name="no", type="file", path="no", optional=True),
            ],
        ),
        sh(
            "read",
            'cd "$COULER_WORK"; cat many/0 many/1 d/e/x; [ -e no ] || echo none; [ -x many/0 ]',
            inputs=[
                given("many", ref("write", "f"), "file", "many", many=True),
                given("d", ref("folder", "d"), "directory", "d"),
                Input(name="no", type="file", path="no", value=ref("folder", "no"), optional=True),
            ],
        ),
        sh(
            "outside",
            tell,
            inputs=[Input(name="f", type="file", at=S3Location(key="given/b"))],
            depends_on=["write"],
        ),
        sh(
            "nothing",
            tell,
            inputs=[Input(name="f", type="file", at=S3Location(key="given/a"), optional=True)],
            depends_on=["write"],
        ),
    )
    found = run(workflow, target, airflow, with_helper)
    assert found.state == "success", found.log
    assert found.xcoms["read", -1]["result"] == "a\nb\n1\nnone"
    assert found.xcoms["outside", -1]["result"] == "more"
    assert found.xcoms["nothing", -1]["result"] == "none"
    location = found.xcoms["write", 1]["f"]
    assert location == f"flows/in-store/{found.run_id}/write/1/f"
    assert s3.filesystem.cat_file(f"data/{location}") == b"b\n"
    assert s3.filesystem.cat_file("data/given/b") == b"more\n"
    # The process itself gets no key of the storage.
    for pod in found.pods:
        assert "test" not in pod.container("base").env.values()


def test_entries_of_cached_steps_are_kept_in_a_storage(
    s3: S3Server, airflow: Worker, with_helper: FakeCluster
) -> None:
    with_helper.secret("store", {"access": "test", "secret": "test"})
    target = Target(options={"io_image": NAME, "files_path": "kept"}, storages={"s3": s3.storage})
    new = "cat /proc/sys/kernel/random/uuid"
    workflow = flow(
        "cached-in-store",
        sh("value", new, cache=Cache()),
        sh(
            "make",
            f'cd "$COULER_WORK"; {new} > f; mkdir -p d/e; cp f d/e/g',
            result=None,
            outputs=[out("f", "file", "f"), out("d", "directory", "d")],
            cache=Cache(),
        ),
        sh(
            "read",
            'cat "$COULER_INPUT_f" "$COULER_INPUT_d/e/g"',
            inputs=[
                given("f", ref("make", "f"), "file"),
                given("d", ref("make", "d"), "directory"),
            ],
        ),
    )
    first, second = (run(workflow, target, airflow, with_helper) for _ in range(2))
    assert first.state == second.state == "success", first.log + second.log
    assert ".cached" not in first.xcoms["value", -1] | first.xcoms["make", -1]
    for task in ("value", "make"):
        key = second.xcoms[task, -1][".cached"]
        assert second.xcoms[task, -1] == {**first.xcoms[task, -1], ".cached": key}
        assert s3.filesystem.exists(f"data/kept/cache/cached-in-store/{key}")
    assert second.xcoms["read", -1] == first.xcoms["read", -1]


def test_a_storage_that_refuses_fails_the_step(
    s3: S3Server, airflow: Worker, with_helper: FakeCluster
) -> None:
    with_helper.secret("store", {"access": "test", "secret": "test"})
    access = SecretKey(secret="store", key="access")
    secret = SecretKey(secret="store", key="secret")
    wrong = S3Location(
        key="x",
        bucket="missing",
        endpoint=str(s3.storage["endpoint"]),
        insecure=True,
        region="us-east-1",
        access_key=access,
        secret_key=secret,
    )
    workflow = flow(
        "refused",
        sh("take", "true", inputs=[Input(name="f", type="file", at=wrong)]),
        sh(
            "put",
            'echo 1 > "$COULER_WORK/f"',
            outputs=[Output(name="f", type="file", path="f", at=wrong)],
        ),
    )
    target = Target(options={"io_image": NAME, "files_claim": "files"})
    found = run(workflow, target, airflow, with_helper)
    assert {task: state for (task, _), state in found.states.items()} == {
        "take": "failed",
        "put": "failed",
    }
    assert "missing" in found.logs["take", -1]
    assert "missing" in found.logs["put", -1]


# elsewhere ----------------------------------------------------------------------------------------


@pytest.fixture
def repository(tmp_path: Path) -> str:
    folder = tmp_path / "code"
    folder.mkdir()
    environ = {
        **os.environ,
        **{f"GIT_{who}_NAME": "Ada" for who in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{who}_EMAIL": "ada@example.org" for who in ("AUTHOR", "COMMITTER")},
    }
    (folder / "file").write_text("of Git\n")
    for words in (["init", "-q"], ["add", "file"], ["commit", "-q", "-m", "one"], ["tag", "v1"]):
        subprocess.run(["git", *words], cwd=folder, env=environ, check=True)
    return str(folder)


def test_files_from_the_web_and_from_git(
    site: Site, repository: str, airflow: Worker, tmp_path: Path
) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        entry = tarfile.TarInfo("inside")
        entry.size = 7
        tar.addfile(entry, io.BytesIO(b"packed\n"))
    site.files["/data.tgz"] = packed.getvalue()
    site.files["/data%20$$"] = b"plain\n"
    web = HttpLocation(
        url=Template(parts=(site.url, "/", param("name"))),
        headers=(HttpHeader(name="X-Of", value="{{ me }}"),),
    )
    workflow = flow(
        "elsewhere",
        sh(
            "read",
            'cd "$COULER_WORK"; cat web packed code/file; cp packed again; echo out > "o ut"',
            inputs=[
                Input(name="web", type="file", path="web", at=web),
                Input(
                    name="packed",
                    type="file",
                    path="packed",
                    at=HttpLocation(url=f"{site.url}/data.tgz"),
                    archive=Tar(),
                ),
                Input(
                    name="code",
                    type="directory",
                    path="code",
                    at=GitLocation(repository=repository, revision="v1"),
                ),
            ],
            outputs=[
                Output(
                    name="again",
                    type="file",
                    path="again",
                    at=HttpLocation(url=f"{site.url}/again.tgz"),
                    archive=Tar(),
                ),
                Output(
                    name="kept",
                    type="file",
                    path="o ut",
                    at=S3Location(key="besides/packed"),
                    archive=Tar(),
                ),
            ],
        ),
        parameters=[parameter("name", "data%20$$")],
    )
    images = Images({NAME: io_image(tmp_path / "image")})
    target = Target(options={"io_image": NAME, "files_claim": "files"})
    with FakeCluster(tmp_path / "cluster", images=images, shared=[Path(repository)]) as cluster:
        found = run(workflow, target, airflow, cluster)
        assert found.state == "success", found.log
        assert found.xcoms["read", -1]["result"] == "plain\npacked\nof Git"
        location = found.xcoms["read", -1]["kept"]
        assert (cluster.claim("files") / location).read_text() == "out\n"
        besides = (cluster.claim("files") / "besides/packed").read_bytes()
    assert names_in(besides) == ["o ut"]
    assert names_in(site.files["/again.tgz"]) == ["again"]


def names_in(archive: bytes) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return tar.getnames()
