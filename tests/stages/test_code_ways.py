"""How the modules of a project come to steps: in the file, as an archive, or in images."""

from __future__ import annotations

import io
import re
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from couler.backends.base import Target
from couler.cli import app
from couler.errors import EngineOptionError, InvalidWorkflowError
from couler.ir.cachekey import definition_digest
from couler.locations.code import code_archive, upload_command
from couler.stages import compile, plan
from couler.stages.planning import Plan
from couler.stages.programs import load_program

STORES = {
    "s3": {"bucket": "b", "endpoint": "minio:9000", "insecure": True},
    "gcs": {"bucket": "b"},
    "oss": {"bucket": "b", "endpoint": "oss.example.org"},
    "azure": {"container": "b", "endpoint": "https://acc.blob.core.windows.net"},
    "hdfs": {"addresses": ["name:8020"], "user": "u"},
}
STORE = ["--storage", "s3.bucket=b", "--storage", "s3.endpoint=minio:9000"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "shop.py").write_text("SIZE = 1\n")
    (tmp_path / "flow.py").write_text(
        "import couler\nimport shop\n\n\n@couler.step(cache=True)\ndef first() -> int:\n"
        '    return shop.SIZE\n\n\nwith couler.Workflow("w"):\n    first()\n'
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def planned(engine: str = "argo", *, stores: tuple[str, ...] = ("s3",), **options: str) -> Plan:
    storages = {kind: STORES[kind] for kind in stores}
    target = Target(options=options, storages=storages)
    return plan(load_program("flow.py"), engine=engine, target=target)


def couler(*words: str) -> Result:
    return CliRunner().invoke(app, words, catch_exceptions=False)


@pytest.mark.parametrize("kind", STORES)
def test_an_archive_lies_in_each_kind_of_storage(kind: str, project: Path) -> None:
    made = planned(stores=(kind,), code="archive")
    text = compile(made, "argo").to_text()
    assert "SIZE" not in text.replace("shop.SIZE", "")
    assert made.workflow.code_at is not None
    [key] = set(re.findall(r"[^\s\"]*couler/code-\w+\.tgz", text))
    command = upload_command(made.workflow.code_at, Path("code.tgz"))
    assert "code.tgz" in command
    assert key in command


def test_the_same_files_make_the_same_archive(project: Path) -> None:
    first = planned(code="archive").workflow
    assert code_archive(first) == code_archive(planned(code="archive").workflow)
    with tarfile.open(fileobj=io.BytesIO(code_archive(first))) as tar:
        assert tar.getnames() == ["code/shop.py"]
    (project / "shop.py").write_text("SIZE = 2\n")
    assert planned(code="archive").workflow.code_at != first.code_at


def test_what_does_not_fit_inline_is_an_archive_where_there_is_a_storage(project: Path) -> None:
    assert planned().workflow.code_at is None
    (project / "shop.py").write_text(f"SIZE = 1\n#{'-' * 140_000}\n")
    assert planned().workflow.code_at is not None
    with pytest.raises(InvalidWorkflowError, match=r"CLR304.*State a storage"):
        compile(planned(stores=()), "argo")
    with pytest.raises(InvalidWorkflowError, match="CLR304"):
        compile(planned(code="inline"), "argo")


def test_the_storage_of_files_is_that_of_the_code(project: Path) -> None:
    options = {"code": "archive", "files_store": "gcs", "io_image": "couler-io:1"}
    made = planned("airflow", stores=("s3", "gcs"), **options).workflow
    assert made.code_at is not None
    assert made.code_at.kind == "gcs"


@pytest.mark.parametrize(
    ("stores", "way", "message"),
    [
        ((), "archive", "needs a storage that is stated for the target"),
        (("s3",), "zip", "code is one of inline, archive, image, not 'zip'"),
    ],
)
def test_ways_that_there_are_not(
    stores: tuple[str, ...], way: str, message: str, project: Path
) -> None:
    with pytest.raises(EngineOptionError, match=message):
        planned(stores=stores, code=way)


def test_keys_do_not_count_how_code_comes(project: Path) -> None:
    keys = {
        definition_digest(planned(code=way).workflow.steps[0], {})
        for way in ("inline", "archive", "image")
    }
    assert len(keys) == 1
    options = {"code": "archive", "io_image": "couler-io:1", "files_claim": "c"}
    archive = compile(planned("airflow", **options), "airflow").to_text()
    inline = compile(planned("airflow", files_claim="c"), "airflow").to_text()
    [key] = keys
    assert key in archive
    assert key in inline


def test_compile_writes_the_archive_and_the_command(project: Path) -> None:
    done = couler("compile", "flow.py", "-e", "argo", "--option", "code=archive", *STORE, "-o", "w")
    assert done.exit_code == 0, done.output
    [archive] = project.glob("*.tgz")
    assert done.stdout == (
        f"aws s3 cp {archive.name} s3://b/couler/{archive.name} --endpoint-url https://minio:9000\n"
    )
    done = couler("compile", "flow.py", "-e", "argo", "--option", "code=archive", *STORE)
    assert done.exit_code == 0
    assert "note: -o FILE writes the archive" in done.output
