"""Building in the box: the same workflow as without, its errors, its bounds, and what it leaves."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from couler.box import Limits, build_program
from couler.box.build import build_ungated, program_name, start_build
from couler.box.review import review
from couler.box.walls import WallError, check_calls, check_files, system_calls
from couler.cli.load import Source, load
from couler.stages import diagnose
from tests.box.test_gate import PROGRAMS, REFUSED_PROGRAMS, without_submitters
from tests.support.processes import is_running

pytestmark = pytest.mark.usefixtures("box")

ROOT = Path(__file__).parents[2]
SIGSYS = (
    "by SIGSYS: it made a call of the system by the numbers of another architecture, of which the "
    "filter lets none pass"
)
HELLO = (
    'import couler\nwith couler.Workflow("x"):\n'
    '    couler.run_container("busybox", ["true"], step_name="a")\n'
)


@pytest.fixture
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Let the box make its folders in one that a test looks into."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield tmp_path
    assert list(tmp_path.iterdir()) == []


@pytest.mark.checkout
def test_an_example_gives_the_workflow_that_it_gives_without_the_box(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    path = "examples/placed_selection/placed_selection.py"
    built = build_program(Path(path).read_text(encoding="utf-8"), file=path)
    assert built.workflow == load(Source(path)).workflow
    assert built.is_sound


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [one for one in sorted(PROGRAMS) if one.name not in REFUSED_PROGRAMS],
    ids=lambda path: path.name,
)
def test_a_program_gives_the_same_with_and_without_the_box(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = without_submitters(path.read_text(encoding="utf-8"))
    Path(path.name).write_text(source, encoding="utf-8")
    loaded = load(Source(path.name))
    built = build_program(source, file=path.name)
    assert built.workflow == loaded.workflow
    assert built.diagnostics == diagnose(loaded)


def test_errors_of_the_program_have_the_codes_and_lines_of_validate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = (
        "import couler\n@couler.step\ndef train(rows: int) -> int:\n    return rows\n"
        'with couler.Workflow("x") as wf:\n    train(row=1)\n    train()\n'
        "    couler.run_container('busybox', ['true'], step_name='A B')\n"
    )
    Path("flow.py").write_text(source, encoding="utf-8")
    built = build_program(source, file="flow.py")
    assert built.diagnostics == diagnose(load(Source("flow.py")))
    assert {one.code for one in built.diagnostics} >= {"CLR104", "CLR101", "CLR150"}
    assert not built.is_sound


def test_a_program_that_raises_is_told_with_its_line_and_its_output() -> None:
    built = build_program("import couler\nprint('so far')\nx = [][1]\n", file="flows/flow.py")
    assert built.workflow is None
    assert "\n".join(map(str, built.diagnostics)) == (
        "flows/flow.py:3  CLR001 error  the program raised IndexError: list index out of range. "
        'It printed "so far"'
    )
    assert built.output == "so far\n"


@pytest.mark.slow
def test_addresses_of_objects_do_not_differ_by_run() -> None:
    source = f"{HELLO}def f(): ...\nprint(f, 'at 0x12')\nassert not f, f\n"
    [built, again] = [build_program(source, file="flow.py") for _ in range(2)]
    assert built.diagnostics == again.diagnostics
    assert built.output == again.output == "<function f at 0x...> at 0x...\n"
    assert "<function f at 0x...>. It printed" in built.diagnostics[0].message


def test_nothing_of_a_refused_program_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent")
    built = build_program("import os")
    assert [one.code for one in built.diagnostics] == ["CLR603"]
    assert built.seconds == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "limits", "code"),
    [
        ("while True:\n    pass", Limits(cpu_s=1, wall_s=60), "CLR620"),
        ("x = [1]\nwhile True:\n    x = x + x", Limits(memory_bytes=400 << 20), "CLR621"),
        ("print('x' * 9999)", Limits(output_bytes=1000), "CLR622"),
        (HELLO, Limits(result_bytes=50), "CLR622"),
        (HELLO, Limits(wall_s=0.001), "CLR620"),
    ],
)
def test_each_bound_has_its_code(program: str, limits: Limits, code: str) -> None:
    built = build_program(program, limits=limits)
    assert [one.code for one in built.diagnostics] == [code]
    assert built.workflow is None


@pytest.mark.slow
def test_a_workflow_that_takes_too_long_to_verify_is_refused() -> None:
    forged = (
        "import json, os\n"
        "steps = [{'name': f'n{i}' * 200, 'depends_on': [f'm{i}' * 200],\n"
        "  'action': {'kind': 'container', 'image': 'x', 'command': ['y']}} for i in range(2000)]\n"
        "text = json.dumps({'diagnostics': [], 'workflow':\n"
        "  {'ir_version': '1', 'name': 'x', 'steps': steps}}).encode()\n"
        "for number in range(3, 64):\n"
        "    try:\n"
        "        if os.fstat(number).st_ino != os.fstat(1).st_ino:\n"
        "            while text:\n"
        "                text = text[os.write(number, text):]\n"
        "    except OSError:\n"
        "        continue\n"
        "os._exit(0)\n"
    )
    built = build_ungated(forged, limits=Limits(cpu_s=1, wall_s=60))
    assert [one.code for one in built.diagnostics] == ["CLR624"]
    assert "to verify" in built.diagnostics[0].message


def test_settings_for_an_engine_that_is_not_here_are_told() -> None:
    source = HELLO.replace('"x")', '"x", engine={"nowhere": {"a": 1}, "argo": {"spec": {}}})')
    found = build_program(source).diagnostics  # the first is the program's, as in validate
    assert [one.code for one in found] == ["CLR106", "CLR302"]
    assert all('"nowhere"' in one.message for one in found)


@pytest.mark.slow
@pytest.mark.usefixtures("_own_folder")
def test_nothing_is_left_behind() -> None:
    before = set(os.listdir("/proc/self/fd"))
    assert build_program(HELLO).is_sound
    assert not build_ungated("import os\nos._exit(1)").is_sound
    build_program("while True:\n    pass", limits=Limits(wall_s=2))
    assert set(os.listdir("/proc/self/fd")) == before


def test_the_names_of_programs_in_the_box_are_plain() -> None:
    assert program_name("/home/me/my flows/nightly-2.py") == "nightly-2.py"
    assert program_name("-c.py") == program_name("<stdin>") == program_name("..") == "workflow.py"
    built = build_program("import couler\ncouler.suspend()\n", file="/somewhere/nightly.py")
    assert built.workflow is not None
    assert built.workflow.name == "nightly"
    assert str(built.workflow.steps[0].source) == "/somewhere/nightly.py:2"


def test_the_walls_are_looked_at_from_inside_and_missing_ones_are_noticed() -> None:
    with pytest.raises(WallError, match="still sees files"):
        check_files(["/usr"])
    # In a process of its own: if the look were wrong, this one could be unmounted or ended.
    code = (
        "from couler.box.walls import *\n"
        "import couler.box.walls as w\n"
        "class Libc:\n"
        "    def __getattr__(self, name):\n"
        "        return lambda *given: 0\n"
        "try:\n    check_calls(Libc())\nexcept WallError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "the filter of calls does not refuse sockets\n"
    assert callable(check_calls)
    assert system_calls()


WITHOUT_NAMESPACES = """
import sys
from couler.box import build_program, isolation
from couler.errors import IsolationError
print(isolation().problem)
try:
    build_program("import couler\\ncouler.suspend()")
except IsolationError as error:
    print("refused", error.exit_code)
"""


def test_a_system_without_user_namespaces_is_refused_and_told_what_to_do() -> None:
    # A namespace in which no further ones can be made stands for such a system.
    inside = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$0" -c "$1"'
    words = ["unshare", "-Ur", "sh", "-c", inside, sys.executable, WITHOUT_NAMESPACES]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    problem, refused = done.stdout.splitlines()
    assert "cannot shut a program in" in problem
    assert "max_user_namespaces" in problem
    assert "mode schema" in problem
    assert refused == "refused 3"


def test_another_system_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from couler.box import build
    from couler.errors import IsolationError

    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(IsolationError, match="only Linux"):
        build.build_program(HELLO)


def test_walls_that_cannot_be_built_are_no_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("couler.box.build._START", "import sys; sys.exit('no Python here')")
    ending = start_build(HELLO, "workflow.py", Limits())
    assert ending.refused == "no Python here"


def test_a_killed_parent_takes_the_box_with_it(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom couler.box.build import build_ungated\n"
        "print('begun', flush=True)\n"
        "build_ungated('import time\\ntime.sleep(1000)', file='orphan-of-the-test.py')\n"
    )
    words, environ = [sys.executable, "-c", code], {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=environ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        while not (children := _children(process.pid)):
            pass
        process.kill()
    for child in children:
        while is_running(child):
            pass
    assert list(tmp_path.iterdir()) == []  # there is no folder that nobody could remove


def _children(pid: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == pid:
            found.append(int(path.parent.name))
    return found


def test_a_review_names_all_that_a_workflow_reaches() -> None:
    source = """
import couler

with couler.Workflow("x", engine={"argo": {"spec": {}}}, service_account="admin") as wf:
    secret = couler.obtain_secret(["token"], name="tracker")
    first = couler.run_container(
        "busybox", ["env"], secret=secret, step_name="first",
        volume_mounts=[couler.VolumeMount("disk", "/disk")],
    )
    couler.add_volume(couler.HostVolume("disk", "/etc"))
    couler.http("https://example.com/x", step_name="call")
    couler.run_script("python:3.12", source="print(1)", step_name="script")
    couler.run_container(
        "other:1", ["echo", couler.text("{}", first.result)], step_name="last",
        input=[couler.S3Artifact("/in", bucket="b", key="k")],
    )
"""
    built = build_program(source)
    assert built.workflow is not None, built.diagnostics
    told = review(built.workflow)
    reaches = "\n".join(told.reaches)
    for what in ("tracker", "/etc", "admin", "argo", "https://example.com/x", '"bucket": "b"'):
        assert what in reaches
    assert set(told.images) == {"busybox", "python:3.12", "other:1"}
    steps = {one.path: one for one in told.steps}
    assert steps["script"].source == "print(1)"
    assert steps["last"].after == ("first",)
    assert steps["first"].command == ("env",)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="it is machine code of x86_64")
@pytest.mark.parametrize(
    ("code", "told"),
    [
        (  # getpid() of the i386, by int 0x80
            "B814000000CD80C3",
            SIGSYS,
        ),
        ("31C08B00C3", "by SIGSEGV, as by calls nested without an end"),  # reads address 0
        ("0F0BC3", "by SIGILL"),  # no instruction
    ],
)
def test_an_end_by_a_signal_is_told_with_its_reason(code: str, told: str) -> None:
    built = build_ungated(f"""\
import ctypes, mmap
page = mmap.mmap(-1, 4096, prot=7)
page.write(bytes.fromhex("{code}"))
ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
print("ESCAPED")
""")
    assert "ESCAPED" not in built.output
    [found] = built.diagnostics
    assert (found.code, found.message) == (
        "CLR623",
        f"the process of the build was ended {told}. A program only makes steps",
    )
