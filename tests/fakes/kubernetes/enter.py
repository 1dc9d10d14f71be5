"""Run one more process in a container that runs: ``python enter.py SPEC.json``.

The spec is an object with ``pid``, the first process of the container, and ``root``, ``argv``,
``env`` and ``cwd`` as in the container's own. A program of its own, as the sandbox is.
"""

from __future__ import annotations

import json
import os
import signal
import sys

import sandbox

_NAMESPACES = ("user", "mnt", "pid")


def main() -> None:
    with open(sys.argv[1]) as file:
        spec = json.load(file)
    folder = f"/proc/{spec['pid']}/ns/"
    opened = {
        kind: os.open(folder + kind, os.O_RDONLY | os.O_CLOEXEC)
        for kind in _NAMESPACES
        if os.readlink(folder + kind) != os.readlink(f"/proc/self/ns/{kind}")
    }
    for kind, descriptor in opened.items():
        sandbox.check(sandbox.libc.setns(descriptor, 0), f"the {kind} namespace of the container")
    child = os.fork()
    if child == 0:
        sandbox.libc.prctl(sandbox.PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        try:
            os.chroot(spec["root"])
            os.chdir(spec["cwd"])
            program = sandbox.find(spec["argv"][0], spec["env"].get("PATH", os.defpath))
            os.execve(program, spec["argv"], spec["env"])
        except OSError as error:
            os.write(2, f"{error}\n".encode())
            os._exit(sandbox.CANNOT_START)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
