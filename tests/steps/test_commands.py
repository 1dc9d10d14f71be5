"""Commands and resources of jobs: what pods run, and what is refused rather than run otherwise."""

from __future__ import annotations

import shutil
import subprocess
import typing as t
from pathlib import Path

import pytest

import couler
from couler.errors import InvalidWorkflowError
from couler.ir.values import filled
from couler.ir.workflow import Job
from couler.steps import katib, mpi, pytorch, tensorflow, trainer
from tests.dsl.look import codes, problems, steps

SCRIPT = """
python prepare.py
python train.py
"""


def container(workflow: couler.Workflow, replica: str = "Master") -> dict[str, t.Any]:
    assert [str(one) for one in problems(workflow)] == []
    [step] = steps(workflow).values()
    assert isinstance(step.action, Job)
    given = [(one.path, one.value) for one in step.action.values]
    tree = filled(step.action.manifest, given)
    pod = tree["spec"]["pytorchReplicaSpecs"][replica]["template"]["spec"]
    return t.cast("dict[str, t.Any]", pod["containers"][0])


def run_words(words: t.Sequence[str], folder: Path) -> list[str]:
    """What a pod would say that has a `python` which tells its arguments."""
    shown = folder / "python"
    shown.write_text('#!/bin/sh\necho "$@"\n')
    shown.chmod(0o755)
    done = subprocess.run(
        [expanded(word, {}) for word in words],
        cwd=folder,
        env={"PATH": f"{folder}:/usr/bin:/bin", "LR": "0.5"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("python train.py", ["train.py --lr=0.1"]),
        ("  python train.py\n", ["train.py --lr=0.1"]),
        ("python train.py 'a; b' \"c && d\"", ["train.py a; b c && d --lr=0.1"]),
        ("python train.py a\\;b \\\n  --more", ["train.py a;b --more --lr=0.1"]),
        ("python train.py $LR 2>&1", ["train.py 0.5 --lr=0.1"]),
        ("LR=0.7 python train.py", ["train.py --lr=0.1"]),
        ("exec python train.py", ["train.py --lr=0.1"]),
        ("python train.py $(echo a; echo b | cat)", ["train.py a b --lr=0.1"]),
        ('python train.py "costs 5 $" a$', ["train.py costs 5 $ a$ --lr=0.1"]),
        ("python train.py `echo a; echo b`", ["train.py a b --lr=0.1"]),
        ('python prepare.py && python train.py "$@"', ["prepare.py", "train.py --lr=0.1"]),
        ('python prepare.py\npython train.py "$@"\n', ["prepare.py", "train.py --lr=0.1"]),
        ('python train.py "$@" | sed s/0.1/0.2/', ["train.py --lr=0.2"]),
        ("for one in a b; do python $one ${1}; done", ["a --lr=0.1", "b --lr=0.1"]),
    ],
)
@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a shell")
def test_hyperparameters_reach_the_program(command: str, said: list[str], tmp_path: Path) -> None:
    with couler.Workflow("w") as wf:
        pytorch.train("a:1", command, input_lr=0.1)
    main = container(wf)
    assert run_words([*main["command"], *main.get("args", ())], tmp_path) == said


@pytest.mark.parametrize(
    "command",
    [
        "cd /srv && python train.py",
        "python prepare.py; python train.py",
        "python train.py | tee log",
        "python train.py # the whole",
        "grep a$; python train.py",
        "python train.py $\necho done",
        "python train.py &",
        "(cd /srv; python train.py)",
        "if true; then python train.py; fi",
        "python train.py <<END\nx\nEND",
        SCRIPT,
        "{ python train.py; }",
        "! python train.py",
    ],
)
def test_hyperparameters_without_a_place_in_a_command_are_refused(command: str) -> None:
    with couler.Workflow("w") as wf:
        pytorch.train("a:1", command, num_workers=2, input_lr=0.1, step_name="fit")
    [problem] = problems(wf)
    assert (problem.code, problem.step) == ("CLR105", "fit")
    assert '"$@"' in problem.message
    assert "--lr=0.1" in problem.message


@pytest.mark.parametrize(
    "make",
    [
        lambda command: tensorflow.train("a:1", command, num_workers=1, input_lr=1),
        lambda command: mpi.train("a:1", command, hyperparameters={"lr": 1}),
        lambda command: trainer.train("r", "a:1", command, args=["--lr", 1]),
        lambda command: katib.run(
            tuning_params=[{"name": "lr", "type": "int", "range": [1, 2]}],
            objective={"type": "minimize", "metric_name": "loss"},
            image="a:1",
            command=command,
        ),
    ],
)
def test_so_it_is_with_every_job(make: t.Callable[[str], object]) -> None:
    with couler.Workflow("w") as wf:
        make(SCRIPT)
    assert codes(wf) == ["CLR105"]
    with couler.Workflow("w") as wf:
        make(SCRIPT.rstrip() + ' "$@"\n')
    assert codes(wf) == []


@pytest.mark.parametrize("command", ["python 'train.py", 'python "train.py', "python $(echo a"])
def test_a_command_that_no_shell_reads_is_refused(command: str) -> None:
    with couler.Workflow("w") as wf:
        pytorch.train("a:1", command)
    [problem] = problems(wf)
    assert problem.code == "CLR105"
    assert "not closed" in problem.message


def test_several_lines_stay_several_lines(tmp_path: Path) -> None:
    with couler.Workflow("w") as wf:
        pytorch.train("a:1", SCRIPT)
    words = container(wf)["command"]
    assert words == ["sh", "-c", "python prepare.py\npython train.py"]
    assert run_words(words, tmp_path) == ["prepare.py", "train.py"]


def test_workers_of_mpi_take_no_arguments() -> None:
    with couler.Workflow("w") as wf:
        mpi.train("a:1", "mpirun train", worker_command="a; b", input_lr=1)
    assert codes(wf) == []


@pytest.mark.parametrize(
    "command",
    ["/usr/local/bin/absent --fast", "absent", ["absent", "a b"], ["/no/such/program"]],
)
def test_a_program_that_is_not_here_is_told_before_it_runs(command: str | list[str]) -> None:
    with couler.Workflow("w") as wf:
        pytorch.train("a:1", command, model_path="/m", step_name="fit")
        pytorch.train("a:1", "sh train.sh", step_name="shell")
    program = command.split()[0] if isinstance(command, str) else command[0]
    with pytest.raises(InvalidWorkflowError, match=f'step "fit" runs "{program}"') as caught:
        wf.run()
    assert [one.code for one in caught.value.diagnostics] == ["CLR363"]


def expanded(text: str, names: t.Mapping[str, str]) -> str:
    """What the kubelet makes of a word of a container."""
    found, place = "", 0
    while place < len(text):
        rest = text[place:]
        if rest.startswith("$$"):
            found, place = found + "$", place + 2
        elif rest.startswith("$(") and ")" in rest:
            name = rest[2 : rest.index(")")]
            found += names.get(name, f"$({name})")
            place += len(name) + 3
        else:
            found, place = found + text[place], place + 1
    return found


@pytest.mark.parametrize("word", ["$(RATE)", "$$", "$$(RATE)", "a$$$(RATE)$", "$RATE ${RATE}"])
def test_dollars_reach_the_program_as_they_are_written(word: str) -> None:
    with couler.Workflow("w") as wf:
        pytorch.train("a:1", ["python", word], args=[word], env={"RATE": "1", "WORD": word})
    main = container(wf)
    told = [main["command"][1], main["args"][0], main["env"][1]["value"]]
    assert [expanded(one, {"RATE": "1"}) for one in told] == [word] * 3


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ({"resources": {"memory": 4096}}, "CLR105", "'4096Mi'"),
        ({"resources": {"disk": 10}}, "CLR105", "'10Gi'"),
        ({"resources": {"memory": "4096"}}, "CLR105", "'4096Mi'"),
        ({"resources": "disk=10"}, "CLR105", "'10Gi'"),
        ({"memory": "512"}, "CLR105", "'512Mi'"),
        ({"resources": {"gpu": 1.5}}, "CLR105", "whole number"),
        ({"resources": {"gpu": True}}, "CLR105", "whole number"),
        ({"resources": "gpu=one"}, "CLR105", "whole number"),
        ({"resources": "gpu=-1"}, "CLR105", "whole number"),
        ({"resources": {"cpus": 2}}, "CLR420", 'Did you mean "cpu"?'),
        ({"resources": "cpus=2"}, "CLR420", 'Did you mean "cpu"?'),
        ({"resources": "cpu=1,cpu=2"}, "CLR105", "twice"),
        ({"resources": "cpu"}, "CLR105", "cpu=0.5"),
    ],
)
def test_wrong_amounts_are_one_diagnostic(options: dict[str, t.Any], code: str, words: str) -> None:
    with couler.Workflow("w") as wf:
        pytorch.train("a:1", "train", num_workers=2, step_name="fit", **options)
    [problem] = problems(wf)
    assert (problem.code, problem.step) == (code, "fit")
    assert words in problem.message
    if isinstance(options.get("resources"), str):
        return
    with couler.Workflow("w") as wf:
        couler.run_container("a:1", ["train"], step_name="fit", **options)
    assert codes(wf) == [code]


def test_right_amounts() -> None:
    amounts = {"cpu": 2, "memory": 2**30, "gpu": 2, "hugepages-2Mi": "4Mi", "example.com/x": 1}
    with couler.Workflow("w") as wf:
        pytorch.train("a:1", "train", resources=amounts)
    asked = {"cpu": "2", "memory": "1073741824", "hugepages-2Mi": "4Mi", "example.com/x": "1"}
    assert container(wf)["resources"] == {
        "limits": {**asked, "nvidia.com/gpu": 2},
    }
