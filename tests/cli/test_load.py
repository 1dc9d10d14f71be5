"""Getting at the workflow of a FILE."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from couler.stages.programs import load_program

ONE = """
import couler

with couler.Workflow("one") as flow:
    couler.run_container("busybox", ["true"], step_name="a")
"""

TWO = (
    ONE
    + """
with couler.Workflow("two") as other:
    couler.run_container("busybox", ["true"], step_name="b")
"""
)


def test_ir_from_a_file_and_from_standard_input(couler: Callable, greet: str, folder: Path) -> None:
    tree = couler("show", greet).out
    as_json = couler("show", greet, "--as", "ir").out
    (folder / "greet.json").write_text(as_json)
    assert couler("show", "greet.json").out == tree
    assert couler("show", "-", input=as_json).out == tree
    assert couler("show", "-", input=Path(greet).read_text()).out == tree


def test_a_program_on_standard_input_is_refused(couler: Callable) -> None:
    assert "a program is a file" in couler("validate", "-", input=ONE).out


@pytest.mark.parametrize("name", ["flow", "one"])
def test_workflow_is_chosen_by_variable_or_by_name(
    couler: Callable, write: Callable, name: str
) -> None:
    assert couler("show", write("two.py", TWO) + f":{name}").out.startswith("one\n")


def test_several_workflows_are_listed(couler: Callable, write: Callable) -> None:
    told = couler("show", write("two.py", TWO))
    assert (told.code, told.out) == (1, "")
    assert "CLR003" in told.err
    assert "two.py:flow, two.py:other" in told.err


def test_no_workflow_of_that_name(couler: Callable, write: Callable) -> None:
    told = couler("show", write("two.py", TWO) + ":othr")
    assert (told.code, told.out) == (1, "")
    assert "CLR004" in told.err
    assert 'Did you mean "other"?' in told.err


def test_program_without_a_workflow(couler: Callable, write: Callable) -> None:
    told = couler("show", write("none.py", "import couler\n"))
    assert (told.code, told.out) == (1, "")
    assert "none.py:1  CLR002 error" in told.err


def test_workflow_that_a_program_submits(couler: Callable, write: Callable) -> None:
    file = write(
        "submits.py",
        """
        import couler

        class Refuse:
            def submit(self, workflow):
                raise AssertionError("nothing is submitted")

        couler.run_container("busybox", ["true"], step_name="a")
        couler.run_container("busybox", ["true"], step_name="b")
        couler.run(submitter=Refuse())
        """,
    )
    assert couler("show", file).out == (
        "submits\n├─ a  container busybox\n└─ b  container busybox  <- a\n"
    )


def test_program_runs_as_a_program(couler: Callable, write: Callable, folder: Path) -> None:
    write("near.py", "NAME = 'from-a-neighbour'\n")
    file = write(
        "sub/main.py",
        """
        import os, pathlib, sys
        sys.path.insert(1, os.getcwd())
        import near, couler
        assert __name__ == "__main__"
        assert sys.modules["__main__"].__dict__ is globals()
        assert sys.argv == ["sub/main.py"], sys.argv
        assert sys.path[0] == str(pathlib.Path("sub").absolute())
        assert pathlib.Path(__file__).samefile("sub/main.py")
        with couler.Workflow(near.NAME):
            couler.run_container("busybox", ["true"], step_name="a")
        if __name__ != "__main__":
            raise SystemExit(1)
        os.chdir("/")
        raise SystemExit
        """,
    )
    before = (sys.argv, list(sys.path), sys.modules["__main__"])
    told = couler("show", file)
    assert (told.code, told.err) == (0, "")
    assert told.out.startswith("from-a-neighbour\n")
    assert (sys.argv, list(sys.path), sys.modules["__main__"]) == before
    assert Path.cwd() == folder


def test_what_a_program_prints_does_not_spoil_the_artifact(
    couler_process: Callable, write: Callable
) -> None:
    file = write("loud.py", "import os\nprint('loud')\nos.system('echo child')\n" + ONE)
    told = couler_process("show", file)
    assert told.out == "one\n└─ a  container busybox\n"
    assert sorted(told.err.split()) == ["child", "loud"]


@pytest.mark.parametrize(
    "change",
    [
        "sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='latin-1'); print('loud')",
        "sys.stderr = io.TextIOWrapper(sys.stderr.detach()); print('loud', file=sys.stderr)",
        "print('loud', end=''); sys.stdout.close(); sys.stderr.write(' '); os.close(2)",
        "print('loud'); sys.stdout = sys.stderr = object()",
        "os.dup2(os.open(os.devnull, os.O_WRONLY), 1); sys.stderr.close(); print('loud')",
    ],
)
def test_a_program_cannot_close_or_replace_the_streams_of_the_command(
    change: str, write: Callable, capfd: pytest.CaptureFixture[str]
) -> None:
    file = write("streams.py", f"import io, os, sys\n{change}\n{ONE}")
    before = sys.stdout, sys.stderr
    assert load_program(file).name == "one"
    assert (sys.stdout, sys.stderr) == before
    sys.stdout.write("artifact\n")
    sys.stderr.write("message\n")
    os.write(2, b"end")
    told = capfd.readouterr()
    assert (told.out, told.err.split()) == ("artifact\n", ["loud", "message", "end"])


def test_raising_program_shows_its_own_lines_alone(couler: Callable, write: Callable) -> None:
    file = write(
        "bad.py",
        """
        import json
        import couler

        def read(text):
            return json.loads(text)

        read("{")
        """,
    )
    told = couler("show", file)
    assert (told.code, told.out) == (1, "")
    assert told.err.startswith("error: bad.py:5  CLR001 error  the program raised JSONDecodeError")
    assert told.err.count("  File ") == 2
    assert 'File "bad.py", line 7, in <module>' in told.err
    assert os.sep + "json" + os.sep not in told.err
    assert "couler" + os.sep + "cli" not in told.err


COMPARED = """
import couler

with couler.Workflow("w"):
    if couler.run_container(image="busybox", command=["true"], step_name="a"):
        pass
"""


@pytest.mark.parametrize(
    "command",
    ["show", "validate", "plan", "run", "compile -e argo", "submit -e argo"],
)
@pytest.mark.parametrize(
    ("program", "last", "message"),
    [
        ("1/0\n", "ZeroDivisionError: division by zero", "ZeroDivisionError"),
        (
            COMPARED,
            "raise ProgramError(",
            "CLR113",
        ),
    ],
)
def test_debug_shows_the_traceback_of_a_program_once(
    couler: Callable, write: Callable, command: str, program: str, last: str, message: str
) -> None:
    told = couler(*command.split(), "--debug", write("bad.py", program))
    assert told.code == 1
    assert (told.err.count("Traceback (most"), told.err.count('File "bad.py"')) == (1, 1)
    assert "couler" + os.sep + "stages" in told.err
    before, _, after = told.err.partition(f"{last}\n")
    assert "error  " not in before
    assert (told.out + after).count(message) == 1


@pytest.mark.parametrize("base", ["Exception", "ImportError", "couler.errors.CoulerError"])
@pytest.mark.parametrize("text", ["1 / 0", "sys.exit(3)", "return 3"])
def test_an_error_of_a_program_that_has_no_text(
    couler: Callable, write: Callable, base: str, text: str
) -> None:
    mute = f"class Mute({base}):\n    def __str__(self):\n        {text}\n"
    file = write("bad.py", f"import couler.errors, sys\n{mute}raise Mute\n")
    for options in ((), ("--debug",)):
        told = couler("show", *options, file)
        assert (told.code, told.err.count("CLR001")) == (1, 1)
        assert "raised Mute" in told.err
        assert 'File "bad.py", line 5' in told.err


def test_debug_shows_where_couler_refused_a_workflow(couler: Callable, write: Callable) -> None:
    file = write("late.py", "import couler\n\ncouler.Workflow('w')\ncouler.Workflow('v')\n")
    told = couler("show", "--debug", file)
    assert "couler" + os.sep + "cli" in told.err
    assert told.err.count("CLR003") == 1


@pytest.mark.parametrize(
    ("program", "place", "what"),
    [
        ("x = 1\ndef f(:\n", "bad.py:2", "SyntaxError"),
        ("import sys\nsys.exit(3)\n", "bad.py:2", "ended with 3"),
        ("import sys\nsys.exit('stop')\n", "bad.py:2", "ended with 'stop'"),
        ("import no_such_module\n", "bad.py:1", "ModuleNotFoundError"),
    ],
)
def test_program_that_stops(
    couler: Callable, write: Callable, program: str, place: str, what: str
) -> None:
    told = couler("show", write("bad.py", program))
    assert (told.code, told.out) == (1, "")
    assert f"error: {place}  CLR001" in told.err
    assert what in told.err.splitlines()[0]


def test_error_of_the_dsl_keeps_its_code(couler: Callable, write: Callable) -> None:
    told = couler("show", write("bad.py", "import couler\n\ncouler.run()\n"))
    assert (told.code, told.out) == (1, "")
    assert told.err.startswith("error: bad.py:3  CLR135 error  couler.run")


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("no.json", "{", "no.json:1  CLR005 error  no JSON"),
        ("no.yaml", "a: [", "no YAML"),
        ("no.yaml", "kind: Workflow\n", "ir_version is None"),
        ("no.json", '{"ir_version": "1", "name": 3}', "name:"),
    ],
)
def test_file_that_is_no_workflow(
    couler: Callable, write: Callable, name: str, text: str, what: str
) -> None:
    told = couler("show", write(name, text))
    assert (told.code, told.out) == (1, "")
    assert "CLR005" in told.err
    assert what in told.err


@pytest.mark.parametrize(
    ("file", "what"),
    [("gone.py", "there is no file gone.py"), (".", "is a folder"), ("a.txt", "neither .py")],
)
def test_wrong_file_is_wrong_usage(couler: Callable, write: Callable, file: str, what: str) -> None:
    write("a.txt", "")
    told = couler("show", file)
    assert (told.code, told.out) == (2, "")
    assert what in told.err


def test_two_programs_one_after_the_other(couler: Callable, write: Callable) -> None:
    first = write("one.py", ONE)
    second = write("other.py", ONE.replace('"one"', '"other"'))
    assert couler("show", first).out.startswith("one\n")
    assert couler("show", second).out.startswith("other\n")
    assert couler("show", first).out.startswith("one\n")


def test_mistakes_before_the_one_that_ends_a_program_are_told_as_well(
    couler: Callable, write: Callable
) -> None:
    program = """
        import couler

        @couler.step
        def f(a: int) -> int:
            return a

        with couler.Workflow("w"):
            f("x")
            x = f(2)
            x.foo
        """
    file = write("bad.py", program)
    told = couler("show", file)
    assert (told.code, told.out) == (1, "")
    first, last = told.err.splitlines()
    assert first.startswith("error: bad.py:8  CLR107 error")
    assert last.startswith("bad.py:10  CLR143 error")
    assert [line.split()[1] for line in couler("validate", file).out.splitlines()] == [
        "CLR107",
        "CLR143",
    ]
