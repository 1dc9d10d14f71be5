"""Files of a step's own at absolute paths of the machine."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import typing as t
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from couler.backends.local.runtimes import enter, namespaces
from couler.backends.local.runtimes.base import CannotStartError, Job
from couler.backends.local.runtimes.host import HostRuntime
from couler.ir.storage import EmptyVolume, HostVolume, Mount
from couler.ir.workflow import Container, Output, Step, Workflow

Attempt = Callable[..., t.Any]
Make = Callable[..., Step]
NOBODY = 65534

HOST = HostRuntime(dict(os.environ))
needs_namespaces = pytest.mark.skipif(
    HOST.no_view is not None, reason=f"no namespaces here: {HOST.no_view}"
)


@needs_namespaces
def test_files_at_absolute_paths_do_not_touch_the_machine(attempt: Attempt, shell: Make) -> None:
    step = shell(
        "cat /couler-test/in/a && echo new >/couler-test/out/b && cp /couler-test/in/a /tmp/c"
        " && mv /couler-test/out/b /couler-test/out/moved",
        inputs={"a": "/couler-test/in/a"},
        outputs={"b": "/couler-test/out/moved", "c": "/tmp/c"},
    )
    end = attempt(HOST, step, files={"/couler-test/in/a": "given"})
    assert (end.exit_code, end.stdout, end.stderr) == (0, "given", "")
    assert end.output(HOST, "/couler-test/out/moved").read_text() == "new\n"
    assert end.output(HOST, "/tmp/c").read_text() == "given"
    assert not Path("/couler-test").exists()
    assert not Path("/tmp/c").exists()


@needs_namespaces
def test_the_rest_of_the_machine_is_there(attempt: Attempt, shell: Make) -> None:
    """Also beside a declared path, and right below the root."""
    step = shell(
        "ls -A / && echo && id -u && pwd && cat /etc/passwd /dev/null && echo x >/model",
        outputs={"model": "/model", "other": "/etc/couler-model"},
    )
    end = attempt(HOST, step)
    assert end.exit_code == 0, end.stderr
    names, _, rest = end.stdout.partition("\n\n")
    assert set(names.split("\n")) == set(os.listdir("/"))
    passwd = Path("/etc/passwd").read_text()
    assert rest == f"{os.getuid()}\n{end.job.work}\n{passwd}"
    assert end.output(HOST, "/model").read_text() == "x\n"
    assert not end.output(HOST, "/etc/couler-model").exists()


@needs_namespaces
def test_what_the_machine_has_at_a_declared_path_is_hidden_and_kept(
    attempt: Attempt, shell: Make, tmp_path: Path
) -> None:
    there = tmp_path / "there"
    there.mkdir()
    (there / "result").write_text("of the machine")
    (there / "beside").write_text("beside")
    (there / "link").symlink_to("beside")
    line = f"test -e {there}/result && echo seen; cat {there}/link; echo mine >{there}/result"
    end = attempt(HOST, shell(line, outputs={"r": f"{there}/result"}))
    assert (end.exit_code, end.stdout) == (0, "beside")
    assert end.output(HOST, f"{there}/result").read_text() == "mine\n"
    assert (there / "result").read_text() == "of the machine"
    assert sorted(os.listdir(there)) == ["beside", "link", "result"]


@needs_namespaces
def test_folders_behind_links_and_inside_of_each_other(
    attempt: Attempt, shell: Make, tmp_path: Path
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    step = shell(
        f"cat {tmp_path}/real/in/a {tmp_path}/link/in/a; echo b >{tmp_path}/link/in/deep/b",
        inputs={"a": f"{tmp_path}/link/in/a"},
        outputs={"b": f"{tmp_path}/link/in/deep/b"},
    )
    end = attempt(HOST, step, files={f"{tmp_path}/link/in/a": "A"})
    assert (end.exit_code, end.stdout) == (0, "AA")
    assert end.output(HOST, f"{tmp_path}/link/in/deep/b").read_text() == "b\n"
    assert os.listdir(tmp_path / "real") == []


@needs_namespaces
def test_a_folder_that_holds_the_run_cannot_be_hidden(attempt: Attempt, tmp_path: Path) -> None:
    step = Step(
        name="step",
        action=Container(image="i", command=("true",)),
        outputs=(Output(name="o", type="directory", path=str(tmp_path)),),
    )
    with pytest.raises(CannotStartError, match="where the files of the run lie as well"):
        attempt(HOST, step)


@needs_namespaces
def test_the_process_is_the_program_itself(make_job: Callable[..., Job], shell: Make) -> None:
    """Its signals, its exit code and its parent are those of the process that is spawned."""
    step = shell("echo $$ $PPID; kill -TERM $$", outputs={"x": "/couler-test/x"})
    job = make_job(step)
    HOST.prepare(job)
    launch = HOST.launch(job, step.action.command, {})
    process = subprocess.Popen(
        launch.words, env=dict(launch.environ), cwd=launch.directory, stdout=subprocess.PIPE
    )
    written, _ = process.communicate(timeout=20)
    assert written.split() == [b"%d" % process.pid, b"%d" % os.getpid()]
    assert process.returncode == -signal.SIGTERM


@needs_namespaces
def test_signals_are_handled_as_without_a_view(attempt: Attempt, script: Make) -> None:
    source = (
        "import signal\n"
        "for name in ('SIGPIPE', 'SIGXFSZ', 'SIGINT'):\n"
        "    print(name)\n"
        "import subprocess, sys\n"
        "print(open('/proc/self/status').read().split('SigIgn:')[1].split()[0])\n"
    )
    plain = attempt(HOST, script(source, ("python",)))
    outputs = (Output(name="x", type="file", path="/couler-test/x"),)
    viewed = attempt(HOST, script(source, ("python",), outputs=outputs))
    assert viewed.exit_code == 0, viewed.stderr
    assert viewed.stdout == plain.stdout


@needs_namespaces
@pytest.mark.parametrize("code", [0, 3, 125, 126, 127])
def test_exit_codes_are_those_of_the_program(attempt: Attempt, shell: Make, code: int) -> None:
    end = attempt(HOST, shell(f"exit {code}", outputs={"x": "/couler-test/x"}))
    assert (end.exit_code, end.reason) == (code, None)


@needs_namespaces
def test_a_program_that_is_not_there_is_told(attempt: Attempt) -> None:
    step = Step(
        name="step",
        action=Container(image="i", command=("/couler-test/no-such",)),
        outputs=(Output(name="x", type="file", path="/couler-test/x"),),
    )
    end = attempt(HOST, step)
    assert end.reason == (
        'there is no program "/couler-test/no-such" on this machine. Install it, or run the '
        "workflow where its image is used"
    )
    assert list(HOST.check(Workflow(name="flow", steps=(step,)))) == []


@needs_namespaces
def test_scripts_and_working_directories(attempt: Attempt, script: Make) -> None:
    outputs = (Output(name="x", type="file", path="/couler-test/deep/x"),)
    step = script("pwd; echo x >x; echo $0", outputs=outputs, working_dir="/couler-test/deep")
    end = attempt(HOST, step)
    assert end.stdout == f"/couler-test/deep\n{end.job.folder}/script\n"
    assert end.output(HOST, "/couler-test/deep/x").read_text() == "x\n"


@needs_namespaces
def test_volumes(attempt: Attempt, shell: Make, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    (shared / "sub").mkdir(parents=True)
    (shared / "sub" / "a").write_text("A")
    mounts = (
        Mount(volume="scratch", path="/couler-test/scratch"),
        Mount(volume="scratch", path="/couler-test/part", sub_path="part"),
        Mount(volume="host", path="/couler-test/host", sub_path="sub", read_only=True),
    )
    step = shell(
        "ls -A /couler-test/scratch; echo x >/couler-test/part/x; cat /couler-test/scratch/part/x;"
        "cat /couler-test/host/a; echo no >/couler-test/host/b",
        mounts=mounts,
        outputs={"x": "/couler-test/scratch/part/x"},
    )
    volumes = (EmptyVolume(name="scratch"), HostVolume(name="host", path=str(shared)))
    end = attempt(HOST, step, volumes=volumes)
    assert (end.exit_code, end.stdout) == (2, "part\nx\nA")
    assert "Read-only file system" in end.stderr
    assert end.output(HOST, "/couler-test/scratch/part/x").read_text() == "x\n"
    assert os.listdir(shared / "sub") == ["a"]


@needs_namespaces
def test_a_volume_of_the_machine_must_exist(attempt: Attempt, shell: Make, tmp_path: Path) -> None:
    step = shell("true", mounts=(Mount(volume="host", path="/couler-test"),))
    volumes = (HostVolume(name="host", path=f"{tmp_path}/nowhere"),)
    with pytest.raises(CannotStartError, match="nowhere, which it mounts at /couler-test, does"):
        attempt(HOST, step, volumes=volumes)


def pythons_for(user: int) -> Iterator[str]:
    """Yield interpreters that another user may run, which those below /root are not."""
    for program in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        try:
            subprocess.run([program, "-I", "-c", ""], user=user, extra_groups=(), check=True)
        except (OSError, subprocess.SubprocessError):
            continue
        yield program


def run_entered(
    folder: Path, line: str, python: str, **user: t.Any
) -> subprocess.CompletedProcess[str]:
    """Run a line of shell that sees its own /couler-test, with a copy of the launcher."""
    (folder / "root" / "couler-test").mkdir(parents=True)
    spec = {
        "root": str(folder / "root"),
        "private": ["/couler-test/x"],
        "binds": [],
        "directory": "/",
        "refused": str(folder / "refused"),
    }
    (folder / "spec.json").write_text(json.dumps(spec))
    shutil.copy(enter.__file__, folder / "enter.py")
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user.get("user", -1), user.get("group", -1))
    words = [python, "-I", f"{folder}/enter.py", f"{folder}/spec.json", "--", "sh", "-c", line]
    return subprocess.run(words, text=True, capture_output=True, cwd="/", check=False, **user)


LOOK = "id -u; id -g; echo x >/couler-test/x; grep CapEff /proc/self/status; unshare -U true"


@needs_namespaces
@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_a_user_without_privileges_keeps_its_name() -> None:
    python = next(pythons_for(NOBODY), None)
    if python is None:
        pytest.skip("another user can run no Python here")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:  # pytest's are root's alone
        folder = Path(name)
        done = run_entered(folder, LOOK, python, user=NOBODY, group=NOBODY, extra_groups=())
        assert (done.stderr, done.stdout) == (
            "",
            f"{NOBODY}\n{NOBODY}\nCapEff:\t0000000000000000\n",
        )
        assert (folder / "root/couler-test/x").read_text() == "x\n"
        assert (folder / "root/couler-test/x").stat().st_uid == NOBODY
    assert not Path("/couler-test").exists()


@needs_namespaces
@pytest.mark.skipif(os.getuid() != 0, reason="only root has what is dropped here")
def test_root_without_the_privilege_to_mount(tmp_path: Path) -> None:
    """As in a container: root by name, who needs a user namespace like anyone."""

    def drop() -> None:
        drop_capability, may_administrate = 24, 21  # PR_CAPBSET_DROP, CAP_SYS_ADMIN
        if enter.libc.prctl(drop_capability, may_administrate, 0, 0, 0) != 0:
            raise OSError("the capability cannot be dropped")

    done = run_entered(tmp_path, LOOK, sys.executable, preexec_fn=drop)
    assert done.stderr == ""
    assert done.stdout.startswith("0\n0\nCapEff:")
    assert (tmp_path / "root/couler-test/x").read_text() == "x\n"


@needs_namespaces
def test_what_the_launcher_is_refused_is_told(
    attempt: Attempt, shell: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = shell("true", outputs={"x": "/couler-test/x"})
    original = namespaces.wrap

    def wrap(job: Job, words: t.Sequence[str], directory: Path) -> tuple[str, ...]:
        return original(job, words, Path("/couler-nowhere"))

    monkeypatch.setattr(namespaces, "wrap", wrap)
    end = attempt(HOST, step)
    assert end.exit_code == namespaces.CANNOT_START
    assert end.reason == (
        "its files cannot be put at their paths: [Errno 2] No such file or directory: "
        "'/couler-nowhere'"
    )


def test_where_namespaces_are_refused_paths_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespaces, "probe", lambda: "the administrator says no")
    host = HostRuntime(dict(os.environ))
    step = Step(
        name="step",
        action=Container(image="i", command=("sh",)),
        outputs=(Output(name="x", type="file", path="/data/x"),),
        mounts=(Mount(volume="v", path="/scratch"),),
    )
    workflow = Workflow(name="flow", steps=(step,), volumes=(EmptyVolume(name="v"),))
    found = list(host.check(workflow))
    assert [one.code for one in found] == ["CLR361", "CLR361"]
    assert found[0].message == (
        'step "step": "x" has the path /data/x, but a process of this machine has only the '
        "folder COULER_WORK (the administrator says no). Make the path relative to it"
    )
    assert 'the volume "v" has the path /scratch' in found[1].message


@pytest.mark.parametrize("path", ["../x", "/proc/x", "/sys/kernel/x"])
def test_paths_that_are_nowhere_possible(path: str) -> None:
    outputs = (Output(name="x", type="file", path=path),)
    step = Step(name="s", action=Container(image="i", command=("sh",)), outputs=outputs)
    found = list(HOST.check(Workflow(name="flow", steps=(step,))))
    assert [(one.code, one.step) for one in found] == [("CLR361", "s")]


def test_other_systems_have_no_namespaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert namespaces.probe() == "only Linux has mount namespaces"


def test_a_probe_that_fails_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(namespaces, "_LAUNCHER", ("sh", "-c", "exit 1"))
    assert namespaces.probe() == "the system does not allow it"
    monkeypatch.setattr(namespaces, "_LAUNCHER", ("/no-such-program",))
    assert "No such file" in (namespaces.probe() or "")
