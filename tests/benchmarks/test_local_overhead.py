"""The benchmark of the local engine counts what it says that it counts."""

import doctest
import json
import subprocess
import sys
import types
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout

FILE = Path(__file__).resolve().parents[2] / "benchmarks" / "local_overhead.py"


def measure(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, str(FILE), "--measure", "/dev/null", *words)
    return subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)


def test_examples(benchmark: types.ModuleType) -> None:
    tried = doctest.testmod(benchmark)
    assert tried.attempted >= 4
    assert tried.failed == 0


BUSY = "import time\nwhile time.process_time() < 0.4: pass"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere orphans go to the first process")
def test_process_that_is_left_behind_is_waited_for_and_counted(tmp_path: Path) -> None:
    done = measure(tmp_path, "sh", "-c", f"{sys.executable} -c '{BUSY}' &")
    used = json.loads(done.stdout)
    assert used["cpu_s"] >= 0.4
    assert used["wall_s"] < 0.4  # that of the command itself


def test_command_that_fails_is_no_figure(tmp_path: Path) -> None:
    done = measure(tmp_path, "sh", "-c", "echo first; echo it is broken >&2; exit 3")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "exit code 3: it is broken\n"


def test_tool_that_does_not_run_all_steps_is_not_here(
    benchmark: types.ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benchmark, "BUILD", tmp_path)
    words = (sys.executable, "-c", "print('9 succeeded')")
    tool = benchmark.Tool("t", "1", words, benchmark.write_words, ends_with="{steps} succeeded")
    assert benchmark.run(tool, 9, "parallel", benchmark.environment(tmp_path)).cpu_s > 0
    with pytest.raises(benchmark.NotHereError, match='did not say "10 succeeded"'):
        benchmark.run(tool, 10, "parallel", benchmark.environment(tmp_path))


def test_figure_above_its_limit_is_told(
    benchmark: types.ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert benchmark.verdict("a step", 2.0, 2.0, " ms")
    assert not benchmark.verdict("a step", 2.001, 2.0, " ms")
    assert [line.split()[-1] for line in capsys.readouterr().out.splitlines()] == ["ok", "OVER"]
