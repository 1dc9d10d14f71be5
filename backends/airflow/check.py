"""What Airflow would refuse beyond features: names, sizes, counts."""

from __future__ import annotations

from collections.abc import Iterator

from couler.backends.airflow.cache_checks import check_caches
from couler.backends.airflow.connections import check_connections
from couler.backends.airflow.file_checks import check_files
from couler.backends.airflow.flow_checks import check_flow
from couler.backends.airflow.lower import lowered
from couler.backends.airflow.name_checks import check_names
from couler.backends.airflow.nesting_checks import check_nesting
from couler.backends.airflow.options import Options
from couler.backends.airflow.outputs import declare_results
from couler.backends.airflow.pod_checks import check_pods
from couler.backends.airflow.step_checks import check_sets, check_steps
from couler.backends.airflow.text_limits import check_texts
from couler.backends.airflow.value_checks import check_values
from couler.ir.diagnostics import Diagnostic
from couler.ir.workflow import Workflow


def check(workflow: Workflow, options: Options) -> Iterator[Diagnostic]:
    """Yield what would not load or not run: all but the first look at what is compiled."""
    yield from check_sets(workflow)
    workflow = declare_results(lowered(workflow))
    yield from check_flow(workflow)
    yield from check_names(workflow)
    yield from check_nesting(workflow)
    yield from check_steps(workflow, options)
    yield from check_values(workflow, options.version)
    yield from check_texts(workflow)
    yield from check_files(workflow, options)
    yield from check_caches(workflow, options)
    yield from check_pods(workflow)
    yield from check_connections(workflow, options)
