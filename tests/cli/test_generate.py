"""`couler generate --check`: what passes, what is refused, and what is shown of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HELLO = """\
import couler


@couler.step(packages=["numpy"])
def train(rate: float) -> float:
    import numpy

    return float(numpy.float64(rate))


with couler.Workflow("rates", rate=0.1) as wf:
    train(wf.params.rate)
    couler.run_container("busybox", ["echo", "a\\x1b[2Jb"], step_name="tell")
"""


@pytest.mark.usefixtures("box")
def test_a_sound_program_is_shown_for_review(couler: Callable, folder: Path) -> None:
    (folder / "flow.py").write_text(HELLO)
    done = couler("generate", "--check", "flow.py")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "workflow rates: 2 steps"
    assert "    |     import numpy" in lines
    assert '  tell runs ["echo", "a\\u001b[2Jb"]' in lines
    assert "\x1b" not in done.out
    assert "0 errors, 0 warnings; built in " in done.err


@pytest.mark.usefixtures("box")
def test_json_has_all_of_it(couler: Callable, folder: Path) -> None:
    (folder / "flow.py").write_text(HELLO)
    done = couler("generate", "--check", "flow.py", "--format", "json")
    assert done.code == 0
    tree = done.json
    assert tree["schema_version"] == 1
    assert (tree["file"], tree["workflow"], tree["is_sound"]) == ("flow.py", "rates", True)
    assert [one["path"] for one in tree["steps"]] == ["train", "tell"]
    assert tree["steps"][0]["packages"] == ["numpy"]
    assert tree["steps"][0]["line"] == 12
    assert tree["images"][1:] == ["busybox"]
    assert done.out.isascii()


def test_a_refused_program_ends_with_1_and_the_reasons(couler: Callable, folder: Path) -> None:
    (folder / "flow.py").write_text("import os\nos.system('id')\nx = open('y')\n")
    done = couler("generate", "--check", "flow.py")
    assert done.code == 1
    assert [line.split()[:2] for line in done.out.splitlines()] == [
        ["flow.py:1", "CLR603"],
        ["flow.py:3", "CLR605"],
    ]
    assert done.err == "2 errors, 0 warnings; nothing was run\n"
    told = couler("generate", "--check", "flow.py", "--format", "json").json
    assert [one["code"] for one in told["diagnostics"]] == ["CLR603", "CLR605"]
    assert (told["workflow"], told["is_sound"], told["steps"]) == (None, False, [])


@pytest.mark.usefixtures("box")
def test_a_workflow_with_errors_ends_with_1(couler: Callable, folder: Path) -> None:
    (folder / "flow.py").write_text("import couler\ncouler.run_container('', step_name='a b')\n")
    done = couler("generate", "--check", "flow.py")
    assert done.code == 1
    assert "flow.py:2" in done.out
    assert "Look at this" not in done.out


def test_what_is_no_text_is_refused(couler: Callable, folder: Path) -> None:
    (folder / "flow.py").write_bytes(b"x = 1\ny = '\xff'\n")
    done = couler("generate", "--check", "flow.py")
    assert done.code == 1
    assert done.out == "flow.py:2  CLR601 error  the program is no text in UTF-8: byte 0xff\n"


@pytest.mark.usefixtures("box")
def test_standard_input_is_read(folder: Path) -> None:
    words = [sys.executable, "-m", "couler.cli", "generate", "--check", "-", "--format", "json"]
    done = subprocess.run(words, input=HELLO, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["file"] == "<stdin>"


def test_usage(couler: Callable, folder: Path) -> None:
    (folder / "flow.py").write_text(HELLO)
    assert couler("generate").code == 2
    assert couler("generate", "a text", "--check", "flow.py").code == 2
    assert couler("generate", "--check", "absent.py").code == 2


def test_a_system_that_cannot_shut_in_ends_with_3(
    couler: Callable, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "flow.py").write_text(HELLO)
    monkeypatch.setattr("couler.box.walls.is_linux", lambda: False)
    done = couler("generate", "--check", "flow.py")
    assert done.code == 3
    assert done.out == ""
    assert "cannot shut a program in" in done.err
    assert "Traceback" not in done.err


def test_nothing_of_the_program_is_loaded_by_the_command(folder: Path) -> None:
    (folder / "helper.py").write_text("open('imported', 'w')")
    (folder / "flow.py").write_text("import helper\n")
    words = [sys.executable, "-m", "couler.cli", "generate", "--check", "flow.py"]
    subprocess.run(words, capture_output=True, check=False)
    assert not (folder / "imported").exists()
