"""Lists of files: a pod of the helper's image, which asks the storage and hands the list on."""

from __future__ import annotations

import typing as t

from couler.backends.airflow.files import VOLUME, Writer, location_json, secret_variables
from couler.backends.airflow.operators import Operator
from couler.backends.airflow.python import Code, Expression, Unpacked, call
from couler.ir.artifacts import is_in_repository, location_texts
from couler.ir.listing import ListFiles
from couler.ir.workflow import Step

if t.TYPE_CHECKING:
    from couler.backends.airflow.module import Module
    from couler.backends.airflow.options import Options
    from couler.backends.airflow.reading import Scope

_POD = "airflow.providers.cncf.kubernetes.operators.pod"


def listing(
    step: Step, action: ListFiles, scope: Scope, options: Options, module: Module, writer: Writer
) -> Operator:
    """Return the operator that lists the files below a location."""
    words: list[str | Expression] = [",".join(output.name for output in step.outputs)]
    words.append(writer.text(action.pattern or "", scope))
    for field, text in location_texts(action.at):
        words += [field, writer.text(text, scope)]
    in_volume = is_in_repository(action.at)
    root = options.files_path.strip("/")
    made = call(
        module.use("files_below"),
        location_json(action.at),
        words,
        secrets=secret_variables([action.at]) or None,
        claim=Code(module.refer("FILES_CLAIM")) if in_volume else None,
        folder=(f"{VOLUME}/{root}" if root else VOLUME) if in_volume else None,
    )
    operator = module.take(_POD, "KubernetesPodOperator")
    return Operator(operator, {"image": Code(module.refer("IO_IMAGE"))}, (Unpacked(made),))
