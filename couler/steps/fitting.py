"""What the steps have in common that train a model in one process, here and on a cluster alike."""

from __future__ import annotations

import ast
import functools
import typing as t
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files

from couler.dsl._nodes import make_plain_input
from couler.dsl.builder import Builder, current_scope
from couler.dsl.checks import checked_text, checked_texts, name_step
from couler.dsl.drafts import Draft, Returns
from couler.dsl.handles import ProcessHandle, Value, literal
from couler.dsl.processes import finish
from couler.dsl.scope import Scope, make_input
from couler.dsl.shipping import default_image
from couler.dsl.types import DICT, FILE, FLOAT, is_json
from couler.ir.verify.credentials import has_password, without_password
from couler.ir.workflow import Input, Output, Script
from couler.steps.dataset import Dataset

TABLE = "table.py"


def fit(
    kind: str,
    *,
    program: str,
    dataset: Dataset,
    model_params: Mapping[str, object] | None,
    train_params: Mapping[str, object] | None,
    model_file: str,
    image: str | None,
    packages: Sequence[str] | None,
    needs: Sequence[str],
    step_name: str | None,
    own_image: str | None = None,
    more: Mapping[str, object] | None = None,
    options: Mapping[str, t.Any],
) -> ProcessHandle:
    """Make a step that trains.

    Parameters
    ----------
    kind
        What it is, for its name.
    program
        File of `couler.steps.programs` that trains.
    dataset
        The data.
    model_params, train_params
        Parameters of the model and of its training; values can be those of the workflow.
    model_file
        Name of the file that the model is written to.
    image
        The image; by default Python's, into which the packages are installed.
    packages
        What is installed before; by default what is needed, or nothing where an image is given.
    needs
        The packages that the program imports.
    step_name
        Name of the step.
    own_image
        The image where none is given; by default the Python of this program.
    more
        Further inputs of the program.
    options
        The other options of the step.
    """
    scope = current_scope()
    builder = scope.builder
    own_name, place = builder.locate(kind)
    name = name_step(builder, own_name, step_name)
    outputs = (
        Output(
            name="model", type="file", path=checked_text(builder, "model_path", model_file, name)
        ),
        Output(name="score", type="float", path="outputs/score"),
        Output(name="metrics", type="dict", path="outputs/metrics"),
    )
    returns = Returns(outputs, {"model": FILE, "score": FLOAT, "metrics": DICT}, main="model")
    draft = Draft(scope, None, returns, place)
    draft.inputs = [
        *_dataset_inputs(scope, name, dataset),
        _json_input(scope, name, "save_as", model_file),
        *(_json_input(scope, name, key, value) for key, value in (more or {}).items()),
        *_parameter_inputs(scope, name, "model", model_params),
        *_parameter_inputs(scope, name, "train", train_params),
    ]
    installed = packages
    if installed is None:
        installed = () if image is not None else (*needs, *_needs_of(dataset))
    draft.action = Script(
        image=checked_text(
            builder, "image", image or builder.default_image or own_image or default_image(), name
        ),
        source=source_of(program),
        command=("python",),
        packages=checked_texts(builder, "packages", list(installed), name),
    )
    return finish(scope, draft, name, None, {**options, "working_dir": "."})


def _dataset_inputs(scope: Scope, step: str, dataset: Dataset) -> Iterator[Input]:
    builder = scope.builder
    _check(builder, step, dataset)
    columns = dataset.feature_cols
    if isinstance(columns, str):
        columns = [name.strip() for name in columns.split(",")]
    spec: dict[str, object] = {
        "table_name": dataset.table_name,
        "feature_cols": None if columns is None else list(columns),
        "label_col": dataset.label_col,
        "name": dataset.name,
        "format": dataset.format,
        "delimiter": dataset.delimiter,
        "task": dataset.task,
        "test_fraction": dataset.test_fraction,
        "seed": dataset.seed,
    }
    if isinstance(dataset.data, Value):
        value = scope.bring(dataset.data)
        if value._spec.wire == "file":
            yield make_input("data", value._ir(), FILE)
        else:
            yield _text_input(scope, "data", value)
    elif dataset.data is not None:
        spec["data"] = str(dataset.data)
    if isinstance(dataset.source, Value):
        yield _text_input(scope, "source", dataset.source)
    elif dataset.source is not None:
        spec["source"] = dataset.source
    told = {key: value for key, value in spec.items() if value is not None}
    yield make_plain_input("dataset", literal(told), "dict")


def _check(builder: Builder, step: str, dataset: Dataset) -> None:
    given = [name for name in ("table_name", "data", "name") if getattr(dataset, name) is not None]
    problem = None
    if isinstance(dataset.source, str) and has_password(dataset.source):
        told = (
            f'step "{step}": the source of the Dataset "{without_password(dataset.source)}" has a '
            "password in it. Leave it out, and give the step the variable DATASET_URL by env= from "
            "an entry of a secret"
        )
        builder.report("CLR467", told, step=step)
    if len(given) != 1:
        told = " and ".join(given) or "nothing"
        problem = f"it says {told}; say one of table_name, data and name"
    elif not 0 <= dataset.test_fraction < 1:
        problem = f"test_fraction is {dataset.test_fraction}; it goes from 0 to less than 1"
    if problem is not None:
        builder.report("CLR105", f'step "{step}": the Dataset: {problem}', step=step)


def _needs_of(dataset: Dataset) -> Iterator[str]:
    if dataset.name is not None:
        yield "scikit-learn"
    if dataset.table_name is not None:
        yield "sqlalchemy"
    path = dataset.data._hint() if isinstance(dataset.data, Value) else str(dataset.data or "")
    if dataset.format == "parquet" or (dataset.format is None and path.endswith(".parquet")):
        yield "pyarrow"


def _parameter_inputs(
    scope: Scope, step: str, kind: str, given: Mapping[str, object] | None
) -> Iterator[Input]:
    for name, value in (given or {}).items():
        if not name.isidentifier():
            scope.builder.report(
                "CLR105",
                f'step "{step}": "{name}" is no name of a parameter of a model',
                step=step,
            )
            continue
        yield _json_input(scope, step, f"{kind}_{name}", value)


def _json_input(scope: Scope, step: str, name: str, value: object) -> Input:
    if isinstance(value, Value):
        return make_plain_input(name, scope.bring(value)._ir(), "json")
    if not is_json(value):
        scope.builder.report(
            "CLR103", f'step "{step}": {name}: {value!r:.60} has no JSON form', step=step
        )
        value = None
    return make_plain_input(name, literal(value), "json")


def _text_input(scope: Scope, name: str, value: Value) -> Input:
    return make_plain_input(name, scope.bring(value)._ir(), "str")


@functools.cache
def source_of(program: str) -> str:
    """Return a program of the zoo as one script: what it imports of the zoo stands before it."""
    folder = files("couler.steps") / "programs"
    parts = [
        _without_own_imports((folder / name).read_text(encoding="utf-8"))
        for name in (TABLE, program)
    ]
    return "from __future__ import annotations\n\n" + "\n\n".join(parts)


def _without_own_imports(source: str) -> str:
    """Return a module without its docstring, and without what stands in the script already."""
    lines = source.splitlines()
    dropped: set[int] = set()
    for index, node in enumerate(ast.parse(source).body):
        is_docstring = index == 0 and isinstance(node, ast.Expr)
        is_own = isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            ("__future__", "couler.")
        )
        if is_docstring or is_own:
            dropped.update(range(node.lineno - 1, node.end_lineno or node.lineno))
    kept = [line for index, line in enumerate(lines) if index not in dropped]
    return "\n".join(kept).strip() + "\n"
