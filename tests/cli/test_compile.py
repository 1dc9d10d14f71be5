"""`couler compile`: files for an engine, to standard output or to disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from couler.backends.base import NATIVE, Artifact, ArtifactFile, Capabilities, Target
from couler.ir.diagnostics import Diagnostic
from couler.ir.features import Feature
from couler.ir.workflow import Workflow


class TwoFiles:
    """An engine that needs two files and a secret."""

    name = "two-files"
    profiles = ("two-files",)
    formats = ("text", "json")

    def __init__(self, second: str = "more/second.txt") -> None:
        self.second = second

    def capabilities(self, target: Target) -> Capabilities:
        return dict.fromkeys(Feature, NATIVE)

    def check(self, workflow: Workflow, target: Target) -> Iterator[Diagnostic]:
        yield Diagnostic("CLR399", "this is odd", severity="warning")

    def compile(self, workflow: Workflow, target: Target, *, format: str = "text") -> Artifact:
        files = (ArtifactFile("first.txt", "1\n"), ArtifactFile(self.second, "2\n"))
        return Artifact(self.name, files, ("The secret s must exist.",))


@pytest.fixture
def two_files(monkeypatch: pytest.MonkeyPatch) -> Callable[[TwoFiles], None]:
    def install(backend: TwoFiles) -> None:
        monkeypatch.setattr("couler.stages.planning.get_backend", lambda name: backend)

    return install


def test_artifact_is_all_of_standard_output(couler: Callable, greet: str) -> None:
    told = couler("compile", greet, "-e", "argo")
    assert (told.code, told.err) == (0, "")
    assert yaml.safe_load(told.out)["kind"] == "Workflow"
    assert told.out.endswith("\n")
    assert not told.out.endswith("\n\n")


def test_default_format_is_the_engines_first(couler: Callable, greet: str) -> None:
    told = couler("compile", greet, "-e", "airflow")
    assert (told.code, told.err) == (0, "")
    compile(told.out, "greet.py", "exec")
    assert couler("compile", greet, "-e", "airflow", "--format", "python").out == told.out


def test_format_of_the_settings_is_for_engines_that_know_it(
    couler: Callable, greet: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COULER_FORMAT", "json")
    assert couler("compile", greet, "-e", "argo").json["kind"] == "Workflow"
    assert "import DAG" in couler("compile", greet, "-e", "airflow").out


def test_same_every_time(couler_process: Callable, greet: str) -> None:
    first = couler_process("compile", greet, "-e", "argo", PYTHONHASHSEED="1")
    second = couler_process("compile", greet, "-e", "argo", PYTHONHASHSEED="2")
    assert first == second
    assert first.code == 0


def test_same_in_every_locale(couler_process: Callable, write: Callable) -> None:
    letters = "\N{LATIN SMALL LETTER E WITH ACUTE}\N{CJK UNIFIED IDEOGRAPH-6F22}"
    file = write(
        "letters.yaml",
        f"""
        ir_version: "1"
        name: letters
        steps:
        - {{name: a, action: {{kind: container, image: b, command: [echo, "{letters}"]}}}}
        """,
    )
    first = couler_process("compile", file, "-e", "local", LC_ALL="C.UTF-8")
    other = couler_process("compile", file, "-e", "local", LC_ALL="POSIX", PYTHONIOENCODING="ascii")
    assert first.code == other.code == 0
    assert letters in first.out
    assert first.out == other.out


def test_output_to_a_file(couler: Callable, greet: str, folder: Path) -> None:
    told = couler("compile", greet, "-e", "argo", "-o", "out.yaml")
    assert told == (0, "", "")
    header, _, text = (folder / "out.yaml").read_text().partition("\n")
    assert header.startswith("# Workflow greet, compiled from ")
    assert text == couler("compile", greet, "-e", "argo").out
    assert text == couler("compile", greet, "-e", "argo", "-o", "-").out


def test_output_to_a_folder(couler: Callable, greet: str, folder: Path) -> None:
    assert couler("compile", greet, "-e", "local", "-o", "out/").code == 0
    assert [path.name for path in (folder / "out").iterdir()] == ["greet.yaml"]


def test_several_files_need_a_folder(
    couler: Callable, greet: str, folder: Path, two_files: Callable
) -> None:
    two_files(TwoFiles())
    told = couler("compile", greet, "-e", "two-files")
    assert (told.code, told.out) == (2, "")
    assert "give -o FOLDER" in told.err
    told = couler("compile", greet, "-e", "two-files", "-o", "out")
    assert (told.code, told.out) == (0, "")
    assert told.err == "CLR399 warning  this is odd\nnote: The secret s must exist.\n"
    assert (folder / "out/first.txt").read_text() == "1\n"
    assert (folder / "out/more/second.txt").read_text() == "2\n"
    assert couler("compile", greet, "-e", "two-files", "-o", "out", "-q").err == ""


@pytest.mark.parametrize("name", ["../out.txt", "/tmp/out.txt", "a/../../out.txt"])
def test_no_file_leaves_the_folder(
    couler: Callable, greet: str, folder: Path, two_files: Callable, name: str
) -> None:
    two_files(TwoFiles(name))
    told = couler("compile", greet, "-e", "two-files", "-o", "deep/out")
    assert told.code == 4
    assert "outside the folder" in told.err


def test_invalid_workflow_lists_all_errors(couler: Callable, write: Callable) -> None:
    file = write(
        "bad.yaml",
        """
        ir_version: "1"
        name: bad
        steps:
        - {name: a, action: {kind: container, image: busybox}, depends_on: [nobody, b]}
        - {name: b, action: {kind: container, image: busybox}, depends_on: [a]}
        """,
    )
    told = couler("compile", file, "-e", "argo")
    assert (told.code, told.out) == (1, "")
    assert told.err.startswith('error: the workflow "bad" is not valid\n')
    assert "CLR160" in told.err
    assert "CLR202" in told.err


def test_engine_must_be_chosen(couler: Callable, greet: str) -> None:
    told = couler("compile", greet)
    assert (told.code, told.out) == (2, "")
    assert "-e ENGINE (airflow, argo, local" in told.err


def test_engine_and_profile_from_settings(
    couler: Callable, greet: str, write: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("pyproject.toml", '[tool.couler]\nengine = "argo"\nprofile = "nope"\n')
    told = couler("compile", greet)
    assert told.code == 2
    assert "argo has no profile 'nope'" in told.err
    assert couler("compile", greet, "--profile", "argo").code == 0
    assert couler("compile", greet, "-e", "local").code == 0
    monkeypatch.setenv("COULER_ENGINE", "local")
    monkeypatch.setenv("COULER_FORMAT", "json")
    assert json.loads(couler("compile", greet).out)["name"] == "greet"


@pytest.mark.parametrize("option", ["novalue", "=x"])
def test_option_needs_a_name_and_a_value(couler: Callable, greet: str, option: str) -> None:
    told = couler("compile", greet, "-e", "argo", "--option", option)
    assert (told.code, told.out) == (2, "")
    assert "NAME=VALUE" in told.err


FILES = """
ir_version: "1"
name: files
steps:
- name: read
  action: {kind: container, image: busybox, command: [cat, data]}
  inputs: [{name: data, type: file, at: {kind: s3, key: in/data.csv}}]
"""


def test_storages_are_stated_once(couler: Callable, write: Callable, folder: Path) -> None:
    file = write("flow.yaml", FILES)
    write(
        "pyproject.toml",
        """
        [tool.couler.storage.s3]
        bucket = "data"
        endpoint = "minio:9000"
        access_key = "minio/access"
        secret_key = { secret = "minio", key = "secret" }
        [tool.couler.storage.local.s3]
        bucket = "here"
        """,
    )

    def s3(*flags: str) -> dict[str, object]:
        told = couler("compile", file, "-e", "argo", "--format", "json", *flags)
        assert told.code == 0, told.err
        [template] = [one for one in told.json["spec"]["templates"] if "container" in one]
        found: dict[str, object] = template["inputs"]["artifacts"][0]["s3"]
        return found

    assert s3() == {
        "endpoint": "minio:9000",
        "bucket": "data",
        "key": "in/data.csv",
        "accessKeySecret": {"name": "minio", "key": "access"},
        "secretKeySecret": {"name": "minio", "key": "secret"},
    }
    assert s3("--storage", "s3.bucket=other")["bucket"] == "other"
    planned = couler("plan", file, "-e", "argo")
    assert "fill-locations" in planned.out
    for flag, told in (("s3", "is not KIND.FIELD=VALUE"), ("s4.x=y", "there is no storage 's4'")):
        refused = couler("compile", file, "-e", "argo", "--storage", flag)
        assert refused.code == 2
        assert told in refused.err


def test_a_run_takes_files_from_the_stated_storage(
    couler: Callable, write: Callable, folder: Path
) -> None:
    file = write("flow.yaml", FILES.replace("cat, data", 'sh, -c, cat "$COULER_INPUT_data"'))
    told = couler("run", file, "--storage", "s3.bucket=data", "--storage", "s3.access_key=m/a")
    assert told.code == 1  # one of two credentials
    assert "CLR461" in told.err
    (folder / "repository" / "in").mkdir(parents=True)
    (folder / "repository" / "in" / "data.csv").write_text("1")
    assert couler("run", file, "--home", str(folder)).code == 0
