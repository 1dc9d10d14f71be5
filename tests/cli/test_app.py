"""The command as a whole: commands, help, errors and exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from couler.cli import _app

PROBE = """
import json, sys
from couler.cli import app
try:
    app.main(sys.argv[1:], prog_name="couler")
except SystemExit as end:
    print(json.dumps({"code": end.code, "modules": sorted(sys.modules)}), file=sys.stderr)
"""


def test_the_table_holds_the_first_line_of_each_command() -> None:
    for name, line in _app.COMMANDS.items():
        assert import_module(f"couler.cli.{name}").command.help.splitlines()[0] == line


def test_every_command_takes_the_options_of_all(couler: Callable) -> None:
    for name in _app.COMMANDS:
        told = couler(name, "--help")
        assert told.code == 0
        for option in ("--debug", "--verbose", "--quiet", "--help"):
            assert option in told.out, name


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments], capture_output=True, text=True, check=True
    )
    seen = json.loads(done.stderr)
    assert seen["code"] == 0
    assert "click" in seen["modules"]
    heavy = {"pydantic", "yaml", "rich", "couler.ir", "couler.stages"}
    assert not heavy & set(seen["modules"])


def test_help_lists_every_command(couler: Callable) -> None:
    told = couler("--help")
    assert told.code == 0
    assert all(f"  {name} " in told.out for name in _app.COMMANDS)


def test_unknown_command_names_the_nearest(couler: Callable) -> None:
    told = couler("comple")
    assert (told.code, told.out) == (2, "")
    assert 'Did you mean "compile"?' in told.err


def test_unknown_engine_is_wrong_usage_and_names_the_nearest(couler: Callable, greet: str) -> None:
    told = couler("compile", greet, "-e", "lokal")
    assert (told.code, told.out) == (2, "")
    assert 'Did you mean "local"?' in told.err
    assert "Traceback" not in told.err


@pytest.mark.parametrize("arguments", [["--debug", "compile"], ["compile", "--debug"]])
def test_debug_shows_the_traceback_wherever_it_stands(
    couler: Callable, greet: str, arguments: list[str]
) -> None:
    told = couler(*arguments, greet, "-e", "lokal")
    assert told.code == 2
    assert "Traceback" in told.err
    assert "EngineOptionError" in told.err


def test_wrong_setting_is_wrong_configuration(
    couler: Callable, greet: str, write: Callable
) -> None:
    write("pyproject.toml", "[tool.couler]\nengin = 'argo'\n")
    told = couler("compile", greet)
    assert (told.code, told.out) == (3, "")
    assert 'Did you mean "engine"?' in told.err


def test_what_an_engine_cannot_do_has_its_own_exit_code(couler: Callable, write: Callable) -> None:
    file = write(
        "wait.yaml",
        """
        ir_version: "1"
        name: wait
        steps:
        - {name: make, action: {kind: job, manifest: {apiVersion: v1, kind: Job}}}
        """,
    )
    told = couler("compile", file, "-e", "local")
    assert (told.code, told.out) == (5, "")
    assert 'step "make"' in told.err
    assert "Engines that can: airflow, argo" in told.err


def test_defect_asks_for_a_report(
    couler: Callable, greet: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("couler.stages.show", fail)
    told = couler("show", greet)
    assert (told.code, told.out) == (_app.EXIT_DEFECT, "")
    assert "ZeroDivisionError: oops" in told.err
    assert "report" in told.err
    assert "Traceback" not in told.err


def test_file_that_cannot_be_written_is_no_defect(couler: Callable, greet: str) -> None:
    told = couler("show", greet, "-o", "no/such/folder/tree.txt")
    assert (told.code, told.out) == (3, "")
    assert "no/such/folder/tree.txt" in told.err


@pytest.mark.parametrize("arguments", [["show"], ["--help"]])
def test_reader_that_goes_away_is_no_error(arguments: list[str], greet: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "couler.cli", *arguments, greet],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert done.returncode == 128 + signal.SIGPIPE
    assert done.stderr == ""


def test_interrupt_while_a_program_is_read(write: Callable, folder: Path) -> None:
    file = write(
        "slow.py",
        """
        import sys, time
        print("begun", file=sys.stderr, flush=True)
        time.sleep(60)
        """,
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "couler.cli", "show", file],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert "interrupted" in err


def test_colour_only_where_wanted(couler_process: Callable, greet: str) -> None:
    told = couler_process("validate", greet, "-e", "nope")
    assert told.code == 2
    assert "\x1b" not in told.err
