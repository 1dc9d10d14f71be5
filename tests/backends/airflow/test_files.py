"""The wrapper of files, run by busybox on this machine, and what is refused without a place."""

from __future__ import annotations

import os
import shutil
import subprocess
import typing as t
from importlib import resources
from pathlib import Path

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.base import Target
from couler.ir.artifacts import HttpLocation, RawLocation, S3Location, Tar
from couler.ir.defaults import resolve_defaults
from couler.ir.pods import PodContainer
from couler.ir.storage import EmptyVolume, Mount
from couler.ir.workflow import Container, Input, Step, Workflow
from tests.corpus.build import flow, sh

BACKEND = AirflowBackend()
WITH_CLAIM = Target(options={"files_claim": "shared"})
SCRIPT = resources.files("couler.backends.airflow") / "files.sh"


class Wrapper:
    """A folder that stands for `/couler` of a pod, and one for its work folder."""

    def __init__(self, folder: Path) -> None:
        self.tools, self.work = folder / "tools", folder / "work"
        self.files = self.tools / "files"
        self.files.mkdir(parents=True)
        busybox = shutil.which("busybox")
        assert busybox is not None
        (self.tools / "busybox").symlink_to(busybox)
        text = SCRIPT.read_text()
        assert "\ntools=/couler\n" in text
        self.script = folder / "files.sh"
        self.script.write_text(text.replace("\ntools=/couler\n", f"\ntools={self.tools}\n"))

    def run(
        self, *lines: tuple[str, ...], command: str = "true", given: str = ""
    ) -> subprocess.CompletedProcess[str]:
        counted = [word for line in lines for word in (str(len(line)), *line)]
        return subprocess.run(
            [self.tools / "busybox", "sh", self.script, *counted, "--", "sh", "-c", command],
            env={"COULER_WORK": str(self.work), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            input=given,
            timeout=60,
            check=False,
        )

    def key(self, name: str) -> str:
        return (self.tools / "keys" / name).read_text()


@pytest.fixture
def wrapper(tmp_path: Path) -> Wrapper:
    if shutil.which("busybox") is None:
        pytest.skip("the wrapper is run by busybox: `make containers`")
    return Wrapper(tmp_path)


def test_files_are_put_in_their_places_and_kept(wrapper: Wrapper) -> None:
    (wrapper.files / "one").write_text("1\n")
    (wrapper.files / "folder/sub").mkdir(parents=True)
    (wrapper.files / "folder/sub/two").write_text("2\n")
    done = wrapper.run(
        ("take", "file", "in/a b", "one"),
        ("take", "directory?", "d", "folder"),
        ("take", "file?", "none", ""),
        ("each", "file", "many", "one\n-\none"),
        ("each", "file", "empty", ""),
        ("text", "t", "it's $HOME `x` \\n"),
        ("mode", "t", "400", ""),
        ("keep", "file", "result", "o ut", "run/step/result"),
        ("keep", "file?", "absent", "absent", "run/step/absent"),
        ("keep", "directory", "d", "d", "run/step/d"),
        ("keep", "file", "", "o ut", "besides/x"),
        command=f"cd {wrapper.work}; cat 'in/a b' t; ls many empty none; echo spoilt > 'in/a b'; "
        "echo out > 'o ut'; ln -s sub d/link",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "1\nit's $HOME `x` \\nempty:\n\nmany:\n0\n2\n"
    assert (wrapper.work / "t").stat().st_mode & 0o777 == 0o400
    assert (wrapper.files / "one").read_text() == "1\n"
    assert (wrapper.files / "run/step/result").read_text() == "out\n"
    assert (wrapper.files / "besides/x").read_text() == "out\n"
    assert (wrapper.files / "run/step/d/link/two").read_text() == "2\n"
    assert {name.name for name in (wrapper.tools / "keys").iterdir()} == {"result", "d"}
    assert wrapper.key("result") == "run/step/result"


def test_the_process_has_standard_input(wrapper: Wrapper) -> None:
    done = wrapper.run(("text", "t", ""), command="cat", given="hello\n")
    assert (done.returncode, done.stdout) == (0, "hello\n")


def test_a_directory_may_end_in_a_slash(wrapper: Wrapper) -> None:
    words = ("keep", "directory", "d", "out/", "k/d")
    make = f"mkdir -p {wrapper.work}/out; echo 1 > {wrapper.work}/out/one"
    assert wrapper.run(words, command=make).returncode == 0
    assert (wrapper.files / "k/d/one").read_text() == "1\n"
    shutil.rmtree(wrapper.files)  # so that the helper is asked, which has answered already
    io = wrapper.tools / "io"
    io.mkdir()
    (io / "ready").touch()
    (io / "1.answer").write_text("done\n")
    done = wrapper.run(words, command=make)
    assert done.returncode == 0, done.stderr
    assert (io / "1.ask").read_bytes() == b"put\x001.put/out\0\0\0key\0k/d\0"


def test_a_directory_can_be_taken_to_a_folder_that_is_there(wrapper: Wrapper) -> None:
    (wrapper.files / "folder").mkdir()
    (wrapper.files / "folder/one").touch()
    (wrapper.work / "code").mkdir(parents=True)  # the working directory of the step
    done = wrapper.run(("take", "directory", "code", "folder"), command=f"ls {wrapper.work}/code")
    assert (done.returncode, done.stdout) == (0, "one\n"), done.stderr


def test_files_may_lie_right_below_the_root(wrapper: Wrapper, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("another root takes a user who may change it")
    root = tmp_path / "root"
    tools = root / "couler"
    for folder in (tools / "files", root / "dev"):
        folder.mkdir(parents=True)
    (root / "dev/null").touch()
    shutil.copy(wrapper.tools / "busybox", tools / "busybox")
    (root / "files.sh").write_text(SCRIPT.read_text())
    (tools / "files/one").write_text("1\n")
    told = [
        *("4", "take", "file", "/one.csv", "one", "3", "text", "/two.csv", "2\n"),
        *("5", "keep", "file", "out", "/two.csv", "kept"),
    ]
    command = ["/couler/busybox", "sh", "/files.sh", *told, "--", "/couler/busybox", "true"]
    done = subprocess.run(["chroot", root, *command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (root / "one.csv").read_text() == "1\n"
    assert (tools / "files/kept").read_text() == "2\n"


def test_a_second_attempt_replaces_what_the_first_has_kept(wrapper: Wrapper) -> None:
    words = ("keep", "directory", "d", "d", "run/d")
    for name in ("first", "second"):
        shutil.rmtree(wrapper.work, ignore_errors=True)
        done = wrapper.run(
            words, command=f"mkdir -p {wrapper.work}/d; touch {wrapper.work}/d/{name}"
        )
        assert done.returncode == 0, done.stderr
    assert [one.name for one in (wrapper.files / "run/d").iterdir()] == ["second"]
    assert [one.name for one in (wrapper.files / "run").iterdir()] == ["d"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("take", "file", "p", "nothing"), "there is nothing at nothing"),
        (("take", "file", "p", "folder"), "is no file"),
        (("take", "directory", "p", "one"), "is no directory"),
        (("take", "file", "p", "folder/../one"), "is no key"),
        (("each", "file", "p", "/one"), "is no key"),
        (("keep", "file", "out", "missing", "k"), "did not write"),
        (("keep", "file", "out", ".", "k"), "is no file"),
        (("keep", "file", "out", "made", "../k"), "is no key"),
    ],
)
def test_what_cannot_be_taken_or_kept_fails(
    wrapper: Wrapper, words: tuple[str, ...], reason: str
) -> None:
    (wrapper.files / "one").write_text("1\n")
    (wrapper.files / "folder").mkdir()
    done = wrapper.run(words, command=f"mkdir -p {wrapper.work}; touch {wrapper.work}/made")
    assert (done.returncode, reason in done.stderr) == (125, True), done.stderr
    assert not (wrapper.tools / "k").exists()


def test_a_process_that_fails_keeps_nothing_and_its_code_stays(wrapper: Wrapper) -> None:
    words = ("keep", "file", "out", "made", "k")
    done = wrapper.run(words, command=f"mkdir -p {wrapper.work}; touch {wrapper.work}/made; exit 7")
    assert done.returncode == 7
    assert not (wrapper.files / "k").exists()


@pytest.mark.parametrize(
    "taken",
    [
        Input(name="f", type="file", at=HttpLocation(url="https://example.org/f")),
        Input(name="f", type="file", at=S3Location(key="f", bucket="data")),
        Input(name="f", type="file", at=S3Location(key="f"), archive=Tar()),
    ],
)
def test_what_the_wrapper_cannot_reach_is_refused(taken: Input) -> None:
    assert codes(flow("f", sh("read", "true", inputs=[taken])), WITH_CLAIM) == ["CLR351"]


def codes(workflow: Workflow, target: Target) -> list[str]:
    return [one.code for one in BACKEND.check(resolve_defaults(workflow), target)]


@pytest.mark.parametrize(
    ("before", "codes"),
    [
        ({}, []),
        ({"mirror_mounts": True}, ["CLR353"]),
        ({"mounts": (Mount(volume="data", path="/other"),)}, ["CLR353"]),
        ({"mounts": (Mount(volume="cache", path="/data"),)}, []),
    ],
    ids=["neither", "work-folder", "volume-of-the-file", "other-volume"],
)
def test_init_containers_cannot_look_for_files_of_the_step(
    before: dict[str, t.Any], codes: list[str]
) -> None:
    step = Step(
        name="a",
        action=Container(image="alpine:3", command=("true",)),
        inputs=(Input(name="table", type="file", path="/data/t.csv", at=RawLocation(content="")),),
        mounts=(Mount(volume="data", path="/data"), Mount(volume="cache", path="/data-cache")),
        init_containers=(PodContainer(name="sort", image="alpine:3", command=("true",), **before),),
    )
    volumes = (EmptyVolume(name="data"), EmptyVolume(name="cache"))
    found = BACKEND.check(flow("early", step, volumes=volumes), WITH_CLAIM)
    assert [one.code for one in found] == codes
