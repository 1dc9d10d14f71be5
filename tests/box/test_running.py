"""Runs in the box: they come to what they come to outside, and reach nothing."""

import errno

import pytest

import couler
from couler.box.running import RunLimits, run_boxed, running_problem

pytestmark = pytest.mark.skipif(running_problem() is not None, reason="no runs in a box here")


@couler.step
def answer(number: int) -> int:
    return number + 1


@couler.step
def attempts(package: str) -> dict[str, str]:
    """Try to get out, and tell what stopped it."""
    import os
    import socket

    def tried(what):
        try:
            return f"did: {what()}"
        except OSError as error:
            return str(error.errno)

    return {
        "network": tried(lambda: socket.create_connection(("192.0.2.1", 80), timeout=2)),
        "package": tried(lambda: os.open(package, os.O_WRONLY)),
        "kernel": tried(lambda: os.open("/proc/sys/kernel/panic", os.O_WRONLY)),
        "environment": " ".join(sorted(os.environ)),
        "user": str(os.getuid()),
    }


def workflow(body):
    with couler.Workflow("boxed", number=41) as wf:
        body(wf)
    return wf.to_ir()


def test_a_run_gives_what_it_gives():
    ir = workflow(lambda wf: wf.output("answer", answer(wf.params.number)))
    done = run_boxed(ir, {"number": 1})
    assert (done.status, done.outputs, done.states) == (
        "succeeded",
        {"answer": 2},
        {"succeeded": 1},
    )


def test_what_cannot_be_run_is_told():
    done = run_boxed(workflow(lambda wf: answer(wf.params.number)), {"nobody": 1})
    assert done.status is None
    assert "nobody" in done.message


def test_a_step_that_fails_is_named():
    def body(wf):
        with couler.group("all"):
            couler.run_container("busybox:1.37", ["sh", "-c", "echo no; exit 1"], step_name="wrong")

    done = run_boxed(workflow(body), {})
    told = "all/wrong: it ended with exit code 1; it wrote: no"
    assert (done.status, done.message) == ("failed", told)


@pytest.mark.slow
def test_time_is_bounded():
    ir = workflow(lambda wf: couler.run_container("busybox:1.37", ["sleep", "60"], step_name="s"))
    done = run_boxed(ir, limits=RunLimits(wall_s=4.0))
    assert (done.status, done.message) == (None, "the run was stopped after 4 s")


SHELL = """
exec 2>&1
cat /etc/shadow /root/.bashrc /proc/1/environ | tr '\\0' ' '
echo x > /usr/written; echo x > /lib/written
ls /work /home /root /mnt /srv
ls /sys /sys/class/net
mount -t tmpfs none /usr
kill -9 1 && kill -0 1 && echo lives
head -c 100000000 /dev/zero > large; wc -c < large
ls -d /proc/[0-9]* | wc -l
"""


def test_what_a_step_reaches():
    ir = workflow(
        lambda wf: wf.output(
            "told", couler.run_container("busybox:1.37", ["sh", "-c", SHELL], step_name="s")
        )
    )
    told = run_boxed(ir).outputs["told"]
    for file in ("/etc/shadow", "/root/.bashrc"):
        assert f"{file}: No such file" in told or f"{file}'" in told, told
    assert told.count("Read-only file system") >= 2, told
    assert "lives" in told  # the first process of the box cannot be ended from inside
    assert int(told.splitlines()[-2]) <= RunLimits().file_bytes
    assert int(told.splitlines()[-1]) < 20


def test_what_a_function_reaches(monkeypatch):
    monkeypatch.setenv("API_KEY", "sk-0123456789")
    ir = workflow(lambda wf: wf.output("told", attempts(couler.__file__)))
    told = run_boxed(ir).outputs["told"]
    assert told["network"] == str(errno.ENETUNREACH)
    assert told["package"] == told["kernel"] == str(errno.EROFS)
    assert "API_KEY" not in told["environment"]
    assert told["user"] == "65534"
