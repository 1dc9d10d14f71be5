"""What the steps have in common that train a model in one process, here and on a cluster alike."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files

from couler.dsl._nodes import make_plain_input
from couler.dsl.builder import Builder
from couler.dsl.checks import checked_text, checked_texts
from couler.dsl.handles import ProcessHandle, Value, literal
from couler.dsl.objects import Duration
from couler.dsl.processes import begin_step, finish
from couler.dsl.scope import Returns, Scope, make_input
from couler.dsl.types import DICT, FILE, FLOAT, is_json
from couler.ir.workflow import Input, Output, Script
from couler.packages import default_image
from couler.steps.dataset import Dataset
from couler.steps.dataset_check import columns_of, dataset_problems
from couler.steps.known import Known, findings
from couler.steps.pods import ZooOptions

SHARED = ("table.py", "judge.py")
"""What all programs of the zoo import."""


class FitOptions(ZooOptions, total=False):
    """Options of every step that trains in one process.

    Attributes
    ----------
    packages
        What is installed before; by default what is needed, or nothing where an image is given.
    resources, secret, timeout, profile
        As for `run_container`.
    """

    packages: Sequence[str] | None
    resources: Mapping[str, object] | None
    secret: str | Sequence[str] | None
    timeout: Duration | None
    profile: Mapping[str, float] | None


def fit(
    kind: str,
    *,
    program: str,
    dataset: Dataset,
    model_params: Mapping[str, object] | None,
    train_params: Mapping[str, object] | None = None,
    model_path: str,
    scoring: str | None,
    image: str | None,
    needs: Sequence[str],
    known: Known,
    own_image: str | None = None,
    more: Mapping[str, object] | None = None,
    profile: Mapping[str, float | str] | None = None,
    options: FitOptions,
) -> ProcessHandle:
    """Make a step that trains."""
    scope, name, draft = begin_step(kind, options.get("step_name"))
    builder = scope.builder
    draft.give(_returns(builder, name, model_path, dataset))
    told = {"save_as": model_path, **({} if scoring is None else {"scoring": scoring})}
    if scoring is not None and not dataset.test_fraction:
        message = f'step "{name}": scoring has no effect: the Dataset holds out no rows'
        builder.report("CLR106", message, step=name)
    draft.inputs = [
        *_dataset_inputs(scope, name, dataset),
        *(_json_input(scope, name, key, value) for key, value in {**told, **(more or {})}.items()),
        *_parameter_inputs(scope, name, {"model": model_params, "train": train_params}),
    ]
    for one in findings(known, {**(model_params or {}), **(train_params or {})}):
        message = f'step "{name}": {one.message}'
        builder.report(one.code, message, step=name, severity=one.severity)
    installed = options.get("packages")
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
    others = {key: one for key, one in options.items() if key not in ("packages", "step_name")}
    stated = options.get("profile")
    if isinstance(stated, Mapping | None):
        others["profile"] = {"task": "training", **(profile or {}), **(stated or {})}
    return finish(scope, draft, name, None, {**others, "working_dir": "."})


def _returns(builder: Builder, step: str, model_path: str, dataset: Dataset) -> Returns:
    """Return what training gives: without rows held out, no score."""
    path = checked_text(builder, "model_path", model_path, step)
    outputs = [
        Output(name="model", type="file", path=path),
        Output(name="metrics", type="dict", path="outputs/metrics"),
    ]
    specs = {"model": FILE, "metrics": DICT}
    if dataset.test_fraction:
        outputs.append(Output(name="score", type="float", path="outputs/score"))
        specs["score"] = FLOAT
    return Returns(tuple(outputs), specs, main="model")


def _dataset_inputs(scope: Scope, step: str, dataset: Dataset) -> Iterator[Input]:
    problems = list(dataset_problems(dataset))
    for problem in problems:
        message = f'step "{step}": the Dataset: {problem.message}'
        scope.builder.report(problem.code, message, step=step)
    if problems:
        return
    columns = columns_of(dataset)
    spec: dict[str, object] = {
        "table_name": dataset.table_name,
        "feature_cols": columns,
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


def _needs_of(dataset: Dataset) -> Iterator[str]:
    if dataset.name is not None:
        yield "scikit-learn"
    if dataset.table_name is not None:
        yield "sqlalchemy"
    path = dataset.data._hint() if isinstance(dataset.data, Value) else str(dataset.data or "")
    if dataset.format == "parquet" or (dataset.format is None and path.endswith(".parquet")):
        yield "pyarrow"


def _parameter_inputs(
    scope: Scope, step: str, given: Mapping[str, Mapping[str, object] | None]
) -> Iterator[Input]:
    told: set[str] = set()
    for kind, parameters in given.items():
        for name, value in (parameters or {}).items():
            problem = None
            if not name.isidentifier():
                problem = "is no name of a parameter of a model"
            elif name in told:
                problem = "is given twice, to the model and to its training. Remove one"
            if problem is None:
                yield _json_input(scope, step, f"{kind}_{name}", value)
            else:
                message = f'step "{step}": the parameter "{name}" {problem}'
                scope.builder.report("CLR105", message, step=step)
            told.add(name)


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
        for name in (*SHARED, program)
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
