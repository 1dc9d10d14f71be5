"""What Argo takes at most: counts of the full resource definitions, bytes of an object."""

from __future__ import annotations

from collections.abc import Mapping

from couler.ir.sizes import Limits

MAX_TEMPLATES = 200
MAX_TASKS = 200
MAX_PARAMETERS = 500
MAX_BYTES = 1024 * 1024
"""Largest object that Argo's controller stores, as JSON (`MAX_WORKFLOW_SIZE`)."""

STATUS_BYTES = 81
"""What the controller adds to the object for one node, compressed."""

MAX_DEPTH = 100
"""Deepest nesting of templates that the controller follows."""

# Below are estimates with which parts are made; what they come to is then measured (`footprint`).

BYTES_PER_PART = 1000
"""About what a part adds: its template and its task, what ends it, and the nodes of these."""

BYTES_PER_WAIT = 240
"""About what a gate adds with its node and a value that it lets through, and by half what gives
them out: on steps with names of ten characters."""

BYTES_PER_RUN = 16 * 1024
"""About what a child's definition has around its part: its entry, and some eighty arguments and
outputs."""

BYTES_PER_END = 100
"""About what the letter of a step's end adds where it is made and where it is looked at."""

HELPERS = 3
"""Templates of the tasks that run nothing (`part_helpers`)."""

LIMITS: Mapping[str, Limits] = {
    "argo": Limits(
        scope_steps=MAX_TASKS,
        run_bytes=MAX_BYTES,
        run_definitions=MAX_TEMPLATES,
        takes_runs=True,
        steps_in_scope=3,  # the first task, what looks at leaves and what fails the scope
        steps_in_part=2,  # what looks at leaves, and the end
        steps_per_wait=1,
        bytes_per_part=BYTES_PER_PART,
        bytes_per_wait=BYTES_PER_WAIT,
        bytes_per_end=BYTES_PER_END,
        bytes_per_run=BYTES_PER_RUN,
        definitions_per_run=2,  # its entry, and the body of that
        definitions_of_parts=HELPERS,
        values_per_part=MAX_PARAMETERS,  # and how others ended besides
        parts_are_barriers=True,  # a part is a task, and a task waits for whole tasks
        bounded_parts_in_turn=True,  # the tasks of a part count as one (`dags`)
    ),
    # It counts nothing, and may store larger objects than a default installation.
    "argo-minimal-crd": Limits(parts_are_barriers=True, bounded_parts_in_turn=True),
}
"""What one run takes, by the name of the profile."""
