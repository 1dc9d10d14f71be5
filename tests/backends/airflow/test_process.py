"""The wrapper of processes, run by a real busybox: what it hands on, and how it ends."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import typing as t
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from couler.errors import WireError
from couler.ir.semantics.outputs import read_output
from couler.ir.workflow import Output

BUSYBOX = shutil.which("busybox")
pytestmark = pytest.mark.skipif(BUSYBOX is None, reason="no busybox here")


class Ended(t.NamedTuple):
    """How the wrapper ended."""

    code: int
    stdout: bytes
    stderr: str
    value: t.Any
    """What it has handed on; None for nothing."""
    told: str = ""
    """What it has told of its end."""


class Pod:
    """Folders in the place of those of a pod."""

    def __init__(self, folder: Path) -> None:
        self.tools, self.xcom, self.work = folder / "couler", folder / "xcom", folder / "work"
        self.xcom.mkdir()
        self._folder = folder
        source = (resources.files("couler.backends.airflow") / "process.sh").read_text()
        source = source.replace("tools=/couler\n", f"tools={self.tools}\n")
        source = source.replace("/airflow/xcom/", f"{self.xcom}/")
        self.message = folder / "message"
        source = source.replace("/dev/termination-log", str(self.message))
        self.script = source.replace("sleep 10;", "sleep 1;")

    def start(self, *words: str, **env: str) -> subprocess.Popen[bytes]:
        """Start the wrapper as its container does."""
        assert BUSYBOX is not None
        shutil.rmtree(self.tools, ignore_errors=True)
        self.tools.mkdir()
        shutil.copy(BUSYBOX, self.tools / "busybox")
        (self.xcom / "return.json").unlink(missing_ok=True)
        self.message.unlink(missing_ok=True)
        return subprocess.Popen(
            [str(self.tools / "busybox"), "sh", "-c", self.script, "couler", *words],
            env={"PATH": os.environ["PATH"], **env},
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, *words: str, **env: str) -> Ended:
        """Run the wrapper to its end."""
        process = self.start(*words, **env)
        stdout, stderr = process.communicate(timeout=60)
        file = self.xcom / "return.json"
        written = file.read_bytes() if file.exists() else None
        assert written is None or written.isascii()
        value = None if written is None else json.loads(written)
        told = self.message.read_text() if self.message.exists() else ""
        return Ended(process.returncode, stdout, stderr.decode(), value, told)


@pytest.fixture
def pod(tmp_path: Path) -> Pod:
    return Pod(tmp_path)


def python(source: str, *words: str) -> list[str]:
    """A command that runs a program of Python."""
    return ["--", sys.executable, "-S", "-c", source, *words]


def wait_for(file: Path) -> None:
    """Wait for a file."""
    for _ in range(1200):
        if file.exists():
            return
        time.sleep(0.05)
    raise AssertionError(f"{file} has not come")


HOSTILE = st.binary(max_size=12) | st.text(max_size=12).map(
    lambda text: text.encode(errors="surrogatepass")
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(HOSTILE)
@example(b"")
@example(b"\n")
@example(b"\n\n")
@example(b"a\r\n")
@example(b'"\\\x00\x01\x1f\x7f')
@example("\u0080\u07ff\u0800\uffff\U00010000\U0010ffff".encode())
@example(b"\xc0\x80")
@example(b"\xed\xa0\x80")
@example(b"\xf4\x90\x80\x80")
@example(b"\xf0\x9f\x98")
@example(b"\xe0\x80\x80")
@example(b"\x80")
def test_bytes_arrive_as_on_this_machine(pod: Pod, content: bytes) -> None:
    file = pod.xcom.parent / "content"
    file.write_bytes(content)
    ended = pod.run("result=-", "--", "cat", str(file))
    assert ended.stdout == content
    try:
        expected = read_output(content, Output(), what="", cut_newline=True)
    except WireError:
        assert ended.code == 125
        assert "the output result is no text" in ended.stderr
        assert ended.told.startswith("couler error: the output result is no text")
        assert ended.value is None
    else:
        assert ended.value == {"result": expected.text}
        assert ended.code == 0


@pytest.mark.parametrize(
    ("letter", "count"), [("x", 65_536), ("ä", 32_768), ("\U0001f600", 16_384), ("\x01", 65_536)]
)
def test_a_value_has_a_limit(pod: Pod, letter: str, count: int) -> None:
    source = f"print({letter!r} * int(__import__('sys').argv[1]))"
    assert pod.run("result=-", *python(source, str(count)), PYTHONUTF8="1").value == {
        "result": letter * count
    }
    ended = pod.run("result=-", *python(source, str(count + 1)), PYTHONUTF8="1")
    assert ended.code == 125
    assert "at most 65536 bytes" in ended.stderr
    assert ended.value is None


def test_files_are_outputs(pod: Pod) -> None:
    source = """
import os
from pathlib import Path
work = Path(os.environ["COULER_WORK"])
(work / "a b").write_text("one\\n")
Path(os.environ["OTHER"]).write_text("{}")
print("in the log")
"""
    other = pod.work / "other"
    ended = pod.run(
        "a=a b",
        f"other={other}",
        f"none?={pod.work / 'none'}",
        *python(source),
        COULER_WORK=str(pod.work),
        OTHER=str(other),
    )
    assert ended == Ended(0, b"in the log\n", "", {"a": "one", "other": "{}"})


def test_outputs_that_need_not_be_written(pod: Pod) -> None:
    assert pod.run("a?=/none", *python("")).value == {}


def test_a_file_that_is_missing_is_named(pod: Pod) -> None:
    said = "the process did not write /none, which is its output a\n"
    ended = pod.run("a=/none", *python(""))
    assert ended == Ended(125, b"", f"couler: {said}", None, f"couler error: {said}")


def test_a_folder_is_no_value(pod: Pod) -> None:
    ended = pod.run(f"a?={pod.xcom}", *python(""))
    assert ended.code == 125
    assert "which is the output a, is no file" in ended.stderr


def test_without_outputs_nothing_is_handed_on(pod: Pod) -> None:
    assert pod.run(*python("print('x' * 200_000)")) == Ended(0, b"x" * 200_000 + b"\n", "", None)


@pytest.mark.parametrize("code", [1, 9, 125, 126, 127, 255])
def test_the_exit_code_is_that_of_the_process(pod: Pod, code: int) -> None:
    ended = pod.run("result=-", *python(f"print(1); raise SystemExit({code})"))
    assert ended == Ended(code, b"1\n", "", None)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGUSR1])
def test_a_signal_is_a_code_as_a_shell_has_it(pod: Pod, number: signal.Signals) -> None:
    source = f"""
import resource, signal
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
signal.raise_signal({number})
"""
    ended = pod.run(*python(source))
    assert (ended.code, ended.told) == (128 + number, "")


@pytest.mark.parametrize("outputs", [[], ["result=-"]], ids=["plain", "output"])
def test_a_program_that_cannot_be_started(pod: Pod, outputs: list[str]) -> None:
    (pod.xcom / "text").touch()
    for word in ("no-such-program", str(pod.xcom / "text"), str(pod.xcom), ""):
        ended = pod.run(*outputs, "--", word)
        said = f"there is no program {word} that can be started\n"
        assert ended.code in (126, 127)
        assert ended.told == f"couler error: {said}"
        assert f"couler: {said}" in ended.stderr


def test_what_is_told_has_the_path_that_the_container_has(pod: Pod) -> None:
    file = pod.xcom / "told"
    source = "import os; raise SystemExit('COULER_MESSAGE' in os.environ)"
    ended = pod.run("a=/none", *python(source), COULER_MESSAGE=str(file))
    assert (ended.code, ended.told) == (125, "")
    assert (
        file.read_text() == "couler error: the process did not write /none, which is its output a\n"
    )


def test_commands_are_programs_and_not_words_of_the_shell(pod: Pod) -> None:
    for word in ("fail", "run", "shift"):
        ended = pod.run("--", word, "so")
        assert (ended.code, word in ended.told) == (127, True)


@pytest.mark.parametrize("word", ["", "a b", "$HOME $(id) `id`", "'\"\\", "*", "--", "-n", "x=y"])
def test_words_reach_the_process(pod: Pod, word: str) -> None:
    source = "import sys; print(ascii(sys.argv[1:]), end='')"
    ended = pod.run("result=-", *python(source, word, word))
    assert ended.value == {"result": ascii([word, word])}


def test_a_script_is_the_last_word(pod: Pod) -> None:
    source = "import os, sys\nprint(len(sys.argv), 'COULER_SCRIPT' in os.environ, 'é $x')\n"
    ended = pod.run("result=-", "--", sys.executable, COULER_SCRIPT=source, PYTHONUTF8="1")
    assert ended.value == {"result": "1 False é $x"}


def test_the_working_directory(pod: Pod) -> None:
    source = "import os; print(os.getcwd(), 'COULER_DIR' in os.environ)"
    folder = pod.work / "deep" / "er"
    ended = pod.run("result=-", *python(source), COULER_DIR=str(folder))
    assert ended.value == {"result": f"{folder} False"}
    assert pod.run("result=-", *python(source)).value == {"result": f"{pod.xcom.parent} False"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1])
@pytest.mark.parametrize("outputs", [[], ["result=-"]], ids=["plain", "output"])
def test_signals_reach_the_process(pod: Pod, number: signal.Signals, outputs: list[str]) -> None:
    source = """
import pathlib, signal, sys, time
def end(number, frame):
    print("got", number, flush=True)
    sys.exit(7)
signal.signal(int(sys.argv[1]), end)
pathlib.Path("ready").touch()
while True:
    time.sleep(0.1)
"""
    process = pod.start(*outputs, *python(source, str(int(number))))
    wait_for(pod.xcom.parent / "ready")
    process.send_signal(number)
    stdout, _ = process.communicate(timeout=60)
    assert (process.returncode, stdout) == (7, f"got {int(number)}\n".encode())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT])
def test_an_interrupt_ends_the_process(pod: Pod, number: signal.Signals) -> None:
    source = """
import pathlib, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
pathlib.Path("ready").touch()
while True:  # and no pause, which a signal just before it does not end
    time.sleep(0.1)
"""
    process = pod.start("result=-", *python(source))
    wait_for(pod.xcom.parent / "ready")
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == 7


def test_outputs_that_cannot_be_handed_on_are_a_fault_of_the_wrapper(pod: Pod) -> None:
    pod.xcom.rmdir()
    ended = pod.run("result=-", *python("print(1)"))
    assert ended.code == 125
    assert "couler: cannot hand the outputs on" in ended.stderr


def test_what_is_left_running_does_not_hold_the_wrapper(pod: Pod) -> None:
    source = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
print(child.pid)
"""
    process = pod.start("result=-", *python(source))
    assert process.stdout is not None
    child = int(process.stdout.readline())
    try:
        assert process.wait(timeout=60) == 0
        assert json.loads((pod.xcom / "return.json").read_text()) == {"result": str(child)}
    finally:
        os.kill(child, signal.SIGKILL)
        process.communicate()
