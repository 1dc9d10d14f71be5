"""The wrapper of steps with a cache, run by a real busybox: what it takes, and what it records."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import time
import typing as t
from importlib import resources
from pathlib import Path

import pytest

from couler import io

BUSYBOX = shutil.which("busybox")
pytestmark = pytest.mark.skipif(BUSYBOX is None, reason="the wrapper is run by busybox")

SCRIPTS = resources.files("couler.backends.airflow")
DIGESTS = hashlib.sha256(b"definition").hexdigest() + hashlib.sha256(b"text").hexdigest()
KEY = hashlib.sha256(DIGESTS.encode()).hexdigest()


class Ended(t.NamedTuple):
    """How a pod ended."""

    code: int
    log: str
    outputs: t.Any
    """What it has handed on; None for nothing."""


class Pod:
    """A pod of a step with a cache, beside others that share its volume.

    Parameters
    ----------
    folder
        Has what is of this pod.
    files
        The volume; None for a pod without.
    """

    def __init__(self, folder: Path, files: Path | None) -> None:
        assert BUSYBOX is not None
        self.tools, self.xcom, self.work = folder / "couler", folder / "xcom", folder / "work"
        for one in (self.tools, self.xcom, self.work):
            one.mkdir(parents=True)
        shutil.copy(BUSYBOX, self.tools / "busybox")
        if files is not None:
            files.mkdir(exist_ok=True)
            (self.tools / "files").symlink_to(files)
        self.message = folder / "message"

    def script(self, name: str) -> str:
        """The text of a wrapper, with folders of this pod in the place of its own."""
        text = (SCRIPTS / name).read_text()
        text = text.replace("tools=/couler\n", f"tools={self.tools}\n")
        text = text.replace("/dev/termination-log", str(self.message))
        text = text.replace("/airflow/xcom/", f"{self.xcom}/")
        # A folder stands for the storage that the helper reaches.
        return text.replace('"" "" key', """"" '{"kind": "s3", "key": ""}' key""")

    def start(
        self,
        command: str,
        *outputs: str,
        after: t.Sequence[tuple[str, ...]] = (),
        age: str = "",
        digests: str = DIGESTS,
    ) -> subprocess.Popen[str]:
        """Start the wrapper as its container does."""
        box = str(self.tools / "busybox")
        words = ["sh", "-c", command]
        kept = {line[2]: line[1] for line in after}
        if after:
            told = [word for line in after for word in (str(len(line)), *line)]
            words = [box, "sh", "-c", self.script("files.sh"), "couler", *told, "--", *words]
        said = [f"{name}{'?' * kind.endswith('?')}" for name, kind in kept.items()]
        outputs = (*outputs, *(f"{one}={self.tools}/keys/{one.rstrip('?')}" for one in said))
        process = [box, "sh", "-c", self.script("process.sh"), "couler", *outputs, "--", *words]
        files = [f"{kind.rstrip('?')}:{name}" for name, kind in kept.items()]
        wrapper = [box, "sh", "-c", self.script("cache.sh"), "couler"]
        wrapper = [box, "sh", "-c", self.script("cache.sh"), "couler"]
        return subprocess.Popen(
            [*wrapper, "cache/c", digests, age, *files, "--", *process],
            env={"PATH": os.environ["PATH"], "COULER_WORK": str(self.work)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def end(self, process: subprocess.Popen[str]) -> Ended:
        """Wait for the end of a wrapper."""
        log, _ = process.communicate(timeout=60)
        file = self.xcom / "return.json"
        return Ended(
            process.returncode, log, json.loads(file.read_text()) if file.exists() else None
        )


class Cluster:
    """Pods one after another, with one volume."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.files = folder, folder / "files"
        self.entry = self.files / "cache/c" / KEY
        self.count = 0

    def pod(self) -> Pod:
        self.count += 1
        return Pod(self.folder / f"pod-{self.count}", self.files)

    def run(self, command: str, *outputs: str, **told: t.Any) -> Ended:
        pod = self.pod()
        return pod.end(pod.start(command, *outputs, **told))


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path)


def is_hit(ended: Ended) -> bool:
    """Whether the outputs are those of an entry; the log and what is handed on agree on it."""
    assert ended.code == 0, ended.log
    told = ended.outputs is not None and ended.outputs.get(".cached") == KEY
    assert told == ("couler: cached: " in ended.log), ended.log
    assert told != ("couler: the cache does not have it: " in ended.log), ended.log
    return told


def test_a_second_pod_takes_the_values_of_the_first(cluster: Cluster) -> None:
    say = 'echo ran; printf \'"\\303\\251\\n"\' > "$COULER_WORK/n"'
    outputs = ("result=-", "n=n", "absent?=absent")
    first = cluster.run(say, *outputs)
    assert not is_hit(first)
    assert "it has no entry yet" in first.log
    assert first.outputs == {"result": "ran", "n": '"é\n"'}
    second = cluster.run(say, *outputs)
    assert is_hit(second)
    assert second.outputs == {**first.outputs, ".cached": KEY}
    assert "ran" not in second.log.splitlines()
    assert cluster.entry.stat().st_mode & 0o444 == 0o444


def test_a_step_that_gives_nothing_has_entries_as_well(cluster: Cluster) -> None:
    assert not is_hit(cluster.run("true"))
    second = cluster.run("false")
    assert is_hit(second)
    assert second.outputs == {".cached": KEY}


def test_another_text_has_another_entry(cluster: Cluster) -> None:
    assert not is_hit(cluster.run("true"))
    other = cluster.run("echo 2", "result=-", digests=DIGESTS[:64])
    assert other.outputs == {"result": "2"}
    assert len([*cluster.entry.parent.iterdir()]) == 2


def test_what_fails_is_not_recorded_and_its_code_stays(cluster: Cluster) -> None:
    assert cluster.run("exit 7", "result=-").code == 7
    assert cluster.run("true", "missing=missing").code == 125
    assert not cluster.entry.exists()


MAKE = (
    'cd "$COULER_WORK"; echo 1 > f; mkdir -p d/empty "d/a b"; echo 2 > "d/a b/x"; ln -s "a b" d/to'
)
AFTER = (("keep", "file", "f", "f"), ("keep", "directory", "d", "d"), ("keep", "file?", "no", "no"))


def kept(number: int) -> list[tuple[str, ...]]:
    """What is kept by a run, whose files lie in a place of their own."""
    return [(*line, f"w/run-{number}/{line[2]}/1") for line in AFTER]


def test_files_are_those_of_the_earlier_run(cluster: Cluster) -> None:
    assert not is_hit(cluster.run(MAKE, after=kept(1)))
    again = cluster.run("false", after=kept(2))
    assert is_hit(again)
    assert again.outputs == {".cached": KEY, "f": "w/run-1/f/1", "d": "w/run-1/d/1"}
    assert not (cluster.files / "w/run-2").exists()


@pytest.mark.parametrize(
    "change",
    [
        "rm f/1",
        "echo 3 > f/1",
        "rm f/1; mkdir f/1",
        "echo 3 > 'd/1/a b/x'",
        "echo 3 > d/1/more",
        "rmdir d/1/empty",
        "mkdir d/1/more",
        "rm d/1/to; ln -s empty d/1/to",
        "rm -r d; echo 1 > d",
    ],
)
def test_files_that_are_gone_or_altered_are_made_anew(cluster: Cluster, change: str) -> None:
    assert not is_hit(cluster.run(MAKE, after=kept(1)))
    subprocess.run(["sh", "-ec", change], cwd=cluster.files / "w/run-1", check=True)
    anew = cluster.run(MAKE, after=kept(2))
    assert not is_hit(anew)
    assert "is gone, or is another" in anew.log
    assert anew.outputs == {"f": "w/run-2/f/1", "d": "w/run-2/d/1"}
    assert is_hit(cluster.run("false", after=kept(3)))


def move(entry: Path, seconds: int) -> None:
    """Let an entry have been written at another time."""
    lines = entry.read_text().splitlines()[1:]
    written = int(lines[0])
    assert abs(time.time() - written) < 120
    lines[0] = str(written + seconds)
    rest = "".join(f"{line}\n" for line in lines)
    entry.write_text(f"{hashlib.sha256(rest.encode()).hexdigest()}\n{rest}")


def test_an_entry_of_the_future_has_no_age(cluster: Cluster) -> None:
    cluster.run("echo 1", "result=-")
    move(cluster.entry, 4000)
    assert is_hit(cluster.run("echo 2", "result=-"))
    early = cluster.run("echo 2", "result=-", age="3000")
    assert not is_hit(early)
    assert "in the future" in early.log
    assert is_hit(cluster.run("echo 3", "result=-", age="3000"))


def test_an_entry_that_is_too_old_is_none(cluster: Cluster) -> None:
    cluster.run("echo 1", "result=-")
    move(cluster.entry, -3600)
    assert is_hit(cluster.run("echo 2", "result=-"))
    assert is_hit(cluster.run("echo 2", "result=-", age="4000"))
    late = cluster.run("echo 2", "result=-", age="3000")
    assert not is_hit(late)
    assert "its entry is older than 3000 s" in late.log
    assert is_hit(cluster.run("echo 3", "result=-", age="3000"))


@pytest.mark.parametrize("content", ["", "x", "{}\n", "a\nb\nc\nd\n"])
def test_a_damaged_entry_is_none(cluster: Cluster, content: str) -> None:
    cluster.run("echo 1", "result=-")
    whole = cluster.entry.read_text()
    for damaged in (content, whole[:-2], whole.replace('"1"', '"2"')):
        cluster.entry.write_text(damaged)
        ended = cluster.run("echo 1", "result=-")
        assert not is_hit(ended)
        assert "its entry is damaged" in ended.log
        assert is_hit(cluster.run("false", "result=-"))


def test_an_entry_without_an_output_that_is_read_now_is_none(cluster: Cluster) -> None:
    """What a step prints is recorded where something reads it, which the key does not say."""
    hides = r'printf %s "{\"result\":\"x\",\"result\":" > "$COULER_WORK/n"'
    assert not is_hit(cluster.run(hides, "n=n"))
    more = cluster.run(f"echo 1; {hides}", "n=n", "result=-")
    assert not is_hit(more)
    assert "lacks an output" in more.log
    assert is_hit(cluster.run("false", "n=n", "result=-"))
    assert is_hit(cluster.run("false", "n=n"))


def test_pods_that_write_one_entry_at_the_same_time_do_no_harm(cluster: Cluster) -> None:
    pods = [cluster.pod() for _ in range(8)]
    started = [pod.start(MAKE, after=kept(number)) for number, pod in enumerate(pods)]
    for pod, process in zip(pods, started, strict=True):
        assert pod.end(process).code == 0
    assert [one.name for one in cluster.entry.parent.iterdir()] == [KEY]
    assert is_hit(cluster.run("false", after=kept(9)))


def test_a_place_that_cannot_be_written_fails_nothing(cluster: Cluster) -> None:
    cluster.files.mkdir()
    (cluster.files / "cache").write_text("in the way")
    ended = cluster.run("echo 1", "result=-")
    assert not is_hit(ended)
    assert ended.outputs == {"result": "1"}
    assert "the cache does not take the outputs" in ended.log


def test_a_hit_that_cannot_be_handed_on_is_an_error_and_ends_what_is_beside(
    cluster: Cluster,
) -> None:
    cluster.run("true", "result=-")
    pod = cluster.pod()
    pod.xcom.rmdir()
    ended = pod.end(pod.start("true", "result=-"))
    assert (ended.code, ended.outputs) == (125, None)
    assert pod.message.read_text() == "couler error: cannot hand the outputs on\n"
    assert (pod.tools / "ended").exists()


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process(cluster: Cluster, sent: signal.Signals) -> None:
    pod = cluster.pod()
    process = pod.start(f"touch {pod.work}/begun; exec sleep 100", "result=-")
    while not (pod.work / "begun").exists():
        time.sleep(0.01)
    process.send_signal(sent)
    assert pod.end(process).code == 128 + signal.SIGTERM
    assert not cluster.entry.exists()


# with a helper ------------------------------------------------------------------------------------


class Helped(Cluster):
    """Pods with helpers that reach one storage."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.asked: list[str] = []
        """What the helper was asked by the last pod."""

    def run(self, command: str, *outputs: str, **told: t.Any) -> Ended:
        """Run a pod, with which its helper ends."""
        self.count += 1
        pod = Pod(self.folder / f"pod-{self.count}", None)
        process = pod.start(command, *outputs, **told)
        io.main(
            ["serve", str(pod.tools / "io")],
            environ={io.REPOSITORY: str(self.files)},
            until=lambda: process.poll() is not None,
        )
        self.asked = [
            one.read_text().split("\0")[0] for one in sorted((pod.tools / "io").glob("*.begun"))
        ]
        return pod.end(process)


@pytest.fixture
def helped(tmp_path: Path) -> Helped:
    return Helped(tmp_path)


def test_entries_and_files_may_lie_where_the_helper_reaches(helped: Helped) -> None:
    first = helped.run(MAKE, after=kept(1))
    assert not is_hit(first)
    assert "it has no entry yet" in first.log
    again = helped.run("false", after=kept(2))
    assert is_hit(again)
    assert again.outputs == {".cached": KEY, "f": "w/run-1/f/1", "d": "w/run-1/d/1"}
    assert sorted(helped.asked) == ["digest", "digest", "get"]
    assert not (helped.files / "w/run-2").exists()


@pytest.mark.parametrize("change", ["rm f/1", "echo 3 > d/1/more"])
def test_files_that_the_helper_does_not_find_are_made_anew(helped: Helped, change: str) -> None:
    assert not is_hit(helped.run(MAKE, after=kept(1)))
    subprocess.run(["sh", "-ec", change], cwd=helped.files / "w/run-1", check=True)
    anew = helped.run(MAKE, after=kept(2))
    assert not is_hit(anew)
    assert "is gone, or is another" in anew.log
    assert is_hit(helped.run("false", after=kept(3)))


def test_a_storage_that_cannot_be_asked_fails_nothing(helped: Helped) -> None:
    helped.files.write_text("in the way")
    ended = helped.run("echo 1", "result=-")
    assert not is_hit(ended)
    assert ended.outputs == {"result": "1"}
    assert "the cache does not take the outputs" in ended.log
