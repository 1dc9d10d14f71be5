"""The names that a generated program may use: modules, functions, attributes."""

from __future__ import annotations

import couler

ACTS = {
    **dict.fromkeys(
        (
            *("AirflowSubmitter", "ArgoSubmitter", "LocalSubmitter", "SubmittedRun"),
            *("SubmittedSchedule", "Submitter", "set_default_submitter"),
        ),
        "it hands workflows over, which a generated program leaves to `couler submit`",
    ),
    **dict.fromkeys(
        ("workflow", "workflow_yaml"),
        "it gives the built workflow away; `couler show` and `couler compile` do that",
    ),
    **dict.fromkeys(
        ("GenerateOptions", "generate"),
        "it asks a language model, which a generated program leaves to `couler generate`",
    ),
    "create_secret": (
        "the value of a secret stands in no generated program; name one that exists with "
        "couler.obtain_secret"
    ),
    "CoulerError": "a generated program catches no errors",
    "DefinitionError": "a generated program catches no errors",
    "__version__": "a generated program is the same for every version",
}
"""Public names of `couler` that a generated program has no use for, each with the reason."""

_ZOO = {
    "katib": ("run",),
    "lightgbm": ("LightGBMEstimator", "train"),
    "mpi": ("train",),
    "pytorch": ("train",),
    "sklearn": ("train",),
    "tensorflow": ("train",),
    "trainer": ("train",),
    "xgboost": ("train",),
}
_OPERATIONS = {
    "data": ("DataCard", "ImageCard", "TabularCard"),
    "models": (
        *("DecisionTree", "KernelSvm", "LinearRegression", "LinearSvm"),
        *("LogisticRegression", "RandomForest"),
    ),
    "networks": ("Convolution", "Dense", "Flatten", "MaxPooling", "NeuralNetwork"),
}
_PREDICATES = ("bigger", "bigger_equal", "equal", "not_equal", "smaller", "smaller_equal")
_ANCESTORS = {
    "couler.core.constants": ("ImagePullPolicy", "WFStatus"),
    "couler.core.syntax": (
        *("add_image_pull_secret", "add_toleration", "add_volume", "concurrent"),
        *("create_workflow_volume", "dag", "exec_while", "map", "set_dependencies", "set_dns"),
        *("set_exit_handler", "when", *_PREDICATES),
    ),
    "couler.core.syntax.concurrent": ("concurrent",),
    "couler.core.syntax.conditional": ("when",),
    "couler.core.syntax.dag": ("dag", "set_dependencies"),
    "couler.core.syntax.dns": ("set_dns",),
    "couler.core.syntax.exit_handler": ("set_exit_handler",),
    "couler.core.syntax.image_pull_secret": ("add_image_pull_secret",),
    "couler.core.syntax.loop": ("map",),
    "couler.core.syntax.predicates": _PREDICATES,
    "couler.core.syntax.recursion": ("exec_while",),
    "couler.core.syntax.toleration": ("add_toleration",),
    "couler.core.syntax.volume": ("add_volume", "create_workflow_volume"),
    "couler.core.templates.artifact": ("Artifact", "LocalArtifact", "OssArtifact", "S3Artifact"),
    "couler.core.templates.cache": ("Cache",),
    "couler.core.templates.dns": ("DnsConfig", "DnsConfigOption"),
    "couler.core.templates.image_pull_secret": ("ImagePullSecret",),
    "couler.core.templates.toleration": ("Toleration",),
    "couler.core.templates.volume": ("Volume", "VolumeMount"),
    "couler.core.templates.volume_claim": ("VolumeClaimTemplate",),
}

_DSL = frozenset(couler.__all__) - ACTS.keys()

TYPES = frozenset(
    {
        *("Annotated", "Any", "Dict", "FrozenSet", "Iterable", "List", "Literal", "Mapping"),
        *("NamedTuple", "Optional", "Sequence", "Set", "Tuple", "TypeAlias", "Union"),
    }
)
"""Names of `typing`: for annotations and bases of classes, and never called."""

MODULES: dict[str, frozenset[str]] = {
    "couler": _DSL | {"steps", "operations"},
    "couler.argo": _DSL | {"steps", "operations"},
    "couler.steps": frozenset({"STATIC", *_ZOO}),
    "couler.operations": frozenset(_OPERATIONS),
    **{f"couler.steps.{name}": frozenset(names) for name, names in _ZOO.items()},
    **{f"couler.operations.{name}": frozenset(names) for name, names in _OPERATIONS.items()},
    **{name: frozenset(names) for name, names in _ANCESTORS.items()},
    "couler.ir.storage": frozenset({"ConfigKey", "SecretKey"}),
    "__future__": frozenset({"annotations"}),
    "collections.abc": frozenset({"Iterable", "Mapping", "Sequence"}),
    "dataclasses": frozenset({"dataclass", "field"}),
    "datetime": frozenset({"timedelta"}),
    "functools": frozenset({"partial"}),
    "itertools": frozenset(
        {"accumulate", "chain", "combinations", "pairwise", "permutations", "product"}
    ),
    "json": frozenset({"dumps", "loads"}),
    "math": frozenset(
        {
            *("ceil", "cos", "e", "exp", "fabs", "floor", "hypot", "inf", "isclose", "isqrt"),
            *("log", "log10", "log2", "pi", "prod", "sin", "sqrt", "tan", "trunc"),
        }
    ),
    "textwrap": frozenset({"dedent", "indent"}),
    "typing": TYPES,
}
"""Modules that may be imported, with the names that may be taken from them."""

BUILTINS = frozenset(
    {
        *("abs", "all", "any", "bool", "bytes", "chr", "dict", "divmod", "enumerate", "filter"),
        *("float", "frozenset", "int", "isinstance", "iter", "len", "list", "map", "max", "min"),
        *("next", "ord", "print", "range", "repr", "reversed", "round", "set", "slice", "sorted"),
        *("str", "sum", "tuple", "zip"),
    }
)
"""Builtins that compute with values, and reach nothing else."""

ANNOTATIONS = frozenset(
    {*("bool", "bytes", "dict", "float", "frozenset", "int", "list", "object", "set", "str")}
    | {"tuple"}
)
"""Builtins that annotations may name."""

METHODS = frozenset(
    {
        # of texts
        *("capitalize", "count", "endswith", "find", "index", "isalpha", "isdigit", "islower"),
        *("isupper", "join", "lower", "lstrip", "partition", "removeprefix", "removesuffix"),
        *("replace", "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith"),
        *("strip", "title", "upper"),
        # of lists, dicts, sets and numbers
        *("add", "append", "clear", "copy", "discard", "extend", "fromkeys", "get", "insert"),
        *("intersection", "is_integer", "items", "keys", "pop", "remove", "reverse", "setdefault"),
        *("sort", "difference", "total_seconds", "union", "update", "values"),
        # of itertools.chain
        "from_iterable",
    }
)
"""Methods of Python's own values."""

HANDLES = frozenset(
    {
        # couler.Workflow, its parameters and facts
        *("from_template", "id", "label_runs", "logical_date", "name", "on_exit", "output"),
        *("params", "run_facts", "status"),
        # steps and what they give
        *("map", "or_else", "otherwise", "partial", "path", "result", "step_name", "value"),
        "with_options",
        # loops, hooks and metrics
        *("carry", "duration_s", "exit_code", "header", "next", "status_code", "until", "while_"),
        # enumerations
        *("Always", "Error", "Failed", "IfNotPresent", "Never", "Succeeded"),
        # ready-made steps and estimates of work
        *(
            "best_metrics",
            "best_parameters",
            "best_trial",
            "best_value",
            "ended",
            "fit",
            "hyperparameters",
        ),
        *("kind", "metrics", "model", "model_path", "predicting", "reason", "score"),
        *("set_hyperparameters", "started", "training", "trials"),
    }
)
"""Attributes of what Couler gives a program."""

SETTABLE = frozenset({"model_path"})
"""Attributes that a program may set: of the estimator of the paper's listing 7."""

_BUILT = "a generated program only builds; commands such as `couler show FILE` do the rest"
_BODY = "it is the function of a step, whose body must not run in the build"
_INSIDE = "it leads into the interpreter"

REFUSED = {
    **dict.fromkeys(("compile", "diagnostics", "plan", "show", "submit", "to_ir"), _BUILT),
    **dict.fromkeys(("reveal_secrets", "reveal"), "it gives out secrets"),
    **dict.fromkeys(("parse_file", "parse_raw"), "it reads files, or what is no data"),
    **dict.fromkeys(("fn", "func", "function", "keywords"), _BODY),
    **dict.fromkeys(("format", "format_map"), "a template may reach whatever its values lead to"),
    **dict.fromkeys(
        (
            *("ag_await", "ag_code", "ag_frame", "cr_await", "cr_code", "cr_frame", "cr_origin"),
            *("f_back", "f_builtins", "f_code", "f_globals", "f_lasti", "f_lineno", "f_locals"),
            *("f_trace", "gi_code", "gi_frame", "gi_running", "gi_suspended", "gi_yieldfrom"),
            *("mro", "obj", "tb_frame", "tb_lasti", "tb_lineno", "tb_next", "with_traceback"),
            *("add_note", "modules", "register"),
        ),
        _INSIDE,
    ),
}
"""Attributes that are refused whatever the program calls its own fields, each with the reason."""
