"""Groups of the paper's 14 operators as real processes of this machine.

A group is one Python process that runs its operators in order: setting it up is starting Python. It
starts when all groups that it reads from have ended, at most two at a time. An operator that gets n
computes F(n) by the naive recursion and gives n + step; the values are checked at the end.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

from couler.optimizers.grouping.problem import Grouping, Problem

MOST_PROCESSES = 2

PROGRAM = """
import json, sys
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)
request = json.loads(sys.argv[1])
values = request["values"]
for name, reads in request["operators"]:
    if not reads:
        values[name] = request["first"]
        continue
    values[name] = max(values[one] for one in reads)
    if name != "terminator":
        fibonacci(values[name])
        values[name] += request["step"]
print(json.dumps(values))
"""


def run(problem: Problem, grouping: Grouping, first: int, step: int) -> tuple[float, int]:
    """Run the groups; return the seconds of the wall clock, and what the terminator got."""
    reads: dict[str, list[str]] = {one.name: [] for one in problem.operators}
    for edge in problem.edges:
        reads[edge.after].append(edge.before)
    values: dict[str, int] = {}
    waiting = list(range(len(grouping)))
    running: dict[int, subprocess.Popen[str]] = {}
    begin = time.perf_counter()
    while waiting or running:
        for number in list(waiting):
            inside = grouping[number].operators
            outer = {one for name in inside for one in reads[name]} - set(inside)
            if len(running) == MOST_PROCESSES or not outer <= values.keys():
                continue
            request = {
                "values": {name: values[name] for name in sorted(outer)},
                "operators": [(name, reads[name]) for name in inside],
                "first": first,
                "step": step,
            }
            command = [sys.executable, "-I", "-c", PROGRAM, json.dumps(request)]
            running[number] = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            waiting.remove(number)
        ended = [number for number, process in running.items() if process.poll() is not None]
        if not ended:
            time.sleep(0.0005)
        for number in ended:
            process = running.pop(number)
            output, _ = process.communicate()
            if process.returncode:
                raise RuntimeError(f"group {number} ended with exit code {process.returncode}")
            values |= json.loads(output)
    return time.perf_counter() - begin, values["terminator"]
