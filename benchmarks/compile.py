"""Time from program to manifest, beside Hera, in one run on one machine.

The workflow is a layered DAG: each step waits for two of the layer before, and passes one
parameter to a container that all share. Couler's figures include building the program,
verification, the checks of the engine and the default pipeline. Hera's are its DSL and `to_yaml`.

    python benchmarks/compile.py [--quick]

Every figure is the best of several runs in processes of their own, in CPU seconds, imports excluded
(they are measured by themselves). What counts are the ratios: machines differ, and are noisy, so
what is compared is measured in turns, and each for as long.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable

from workloads.layers import parents
from workloads.limits import verdict

SIZES = (100, 1_000, 5_000, 20_000)
COMPARED = 5_000
RUNS = 5
ROUNDS = 4
"""Processes of each tool at the size that is compared, one tool after the other."""
SECONDS = 8
"""CPU seconds for which each runs: more time finds a quieter minimum, so both have the same."""


def couler_program(steps: int) -> object:
    """Build the workflow with Couler."""
    import couler

    with couler.Workflow("layers") as workflow:
        made: list[object] = []
        for index in range(steps):
            step = couler.run_container(
                image="alpine:3.20",
                command=["echo"],
                args=[f"message {index}"],
                step_name=f"step-{index}",
            )
            for parent in parents(index):
                made[parent] >> step
            made.append(step)
    return workflow


def couler_text(steps: int, format: str) -> str:
    """Return the manifest by Couler, verified and checked."""
    from couler import stages
    from couler.backends.base import Target

    target = Target(profile="argo-minimal-crd")
    artifact = stages.compile(couler_program(steps), "argo", target=target, format=format)
    return artifact.to_text()


def hera_text(steps: int, format: str) -> str:
    """Return the manifest by Hera."""
    from hera.workflows import DAG, Container, Parameter, Workflow

    with Workflow(generate_name="layers-", entrypoint="main") as workflow:
        echo = Container(
            name="echo",
            image="alpine:3.20",
            command=["echo"],
            args=["{{inputs.parameters.message}}"],
            inputs=[Parameter(name="message")],
        )
        with DAG(name="main"):
            made = []
            for index in range(steps):
                step = echo(name=f"step-{index}", arguments={"message": f"message {index}"})
                for parent in parents(index):
                    made[parent] >> step
                made.append(step)
    if format == "yaml":
        return workflow.to_yaml()
    return json.dumps(workflow.to_dict())


TOOLS: dict[str, Callable[[int, str], str]] = {"couler": couler_text, "hera": hera_text}


def measure(tool: str, format: str, steps: int) -> dict[str, float]:
    """Return the best CPU seconds of several runs, the peak memory and the size of the text."""
    make = TOOLS[tool]
    make(10, format)  # imports
    best = float("inf")
    text = ""
    begin = time.process_time()
    while best == float("inf") or time.process_time() - begin < SECONDS:
        start = time.process_time()
        text = make(steps, format)
        best = min(best, time.process_time() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": best, "peak_mib": peak, "bytes": len(text.encode())}


def in_own_process(tool: str, format: str, steps: int) -> dict[str, float]:
    """Measure in a fresh interpreter."""
    command = [sys.executable, __file__, "--measure", tool, format, str(steps)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def cpu_of(*command: str) -> float:
    """Return the least CPU seconds that a command takes, of several runs."""
    best = float("inf")
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        best = min(best, used)
    return best


def report(*, quick: bool) -> bool:
    """Print all figures; return whether every limit is kept."""
    sizes = SIZES[:3] if quick else SIZES
    print("steps   tool    text  CPU s    us/step  peak MiB      bytes")
    results: dict[tuple[str, str, int], dict[str, float]] = {}
    jobs = [("couler", format, steps) for format in ("yaml", "json") for steps in sizes]
    compared = [(tool, format, COMPARED) for tool in TOOLS for format in ("yaml", "json")]
    for job in compared * ROUNDS:
        result = in_own_process(*job)
        if job not in results or result["seconds"] < results[job]["seconds"]:
            results[job] = result
    for job in (*jobs, *compared[2:]):
        tool, format, steps = job
        result = results[job] = results.get(job) or in_own_process(*job)
        print(
            f"{steps:<7} {tool:<7} {format}  {result['seconds']:<8.4f} "
            f"{result['seconds'] / steps * 1e6:<8.1f} {result['peak_mib']:<8.0f} "
            f"{result['bytes']:>10,}"
        )

    python = sys.executable
    bare = cpu_of(python, "-c", "pass")
    couler_import = cpu_of(python, "-c", "import couler") - bare
    hera_import = cpu_of(python, "-c", "import hera.workflows") - bare
    couler_help = cpu_of(python, "-m", "couler.cli", "--help") - bare
    print(f"\nCPU s above a bare interpreter ({bare:.3f}): import couler {couler_import:.3f}, ")
    print(f"couler --help {couler_help:.3f}, import hera.workflows {hera_import:.3f}\n")

    hera = results["hera", "yaml", COMPARED]["seconds"]
    per_step = {
        format: results["couler", format, sizes[-1]]["seconds"]
        / sizes[-1]
        / (results["couler", format, sizes[1]]["seconds"] / sizes[1])
        for format in ("yaml", "json")
    }
    kept = [
        verdict(
            "YAML, couler / hera's YAML",
            results["couler", "yaml", COMPARED]["seconds"] / hera,
            0.18,
        ),
        verdict(
            "JSON, couler / hera's YAML",
            results["couler", "json", COMPARED]["seconds"] / hera,
            1 / 8,
        ),
        verdict(f"YAML, time a step at {sizes[-1]:,} / at {sizes[1]:,}", per_step["yaml"], 1.5),
        verdict(f"JSON, time a step at {sizes[-1]:,} / at {sizes[1]:,}", per_step["json"], 1.5),
        verdict("import couler, CPU s", couler_import, 0.15),
        verdict("couler --help / import hera.workflows", couler_help / hera_import, 1.0),
    ]
    return all(kept)


def main() -> None:
    """Run the benchmark, or one measurement of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="leave out the largest size")
    parser.add_argument("--measure", nargs=3, metavar=("TOOL", "FORMAT", "STEPS"))
    options = parser.parse_args()
    if options.measure:
        tool, format, steps = options.measure
        print(json.dumps(measure(tool, format, int(steps))))
        return
    if not report(quick=options.quick):
        sys.exit("some limit is not kept; run again on an idle machine before believing it")


if __name__ == "__main__":
    main()
