"""Answers to items as edits of their references: other ways of writing them, and planted faults."""

from __future__ import annotations

import typing as t

Edits: t.TypeAlias = tuple[tuple[str, str], ...]

RIGHT: dict[str, tuple[str, Edits]] = {
    "three parameters for a list of files": (
        "feature_engineering",
        (
            ("parts: list[File]", "one: File, two: File, three: File"),
            ("in parts", "in (one, two, three)"),
            (
                'parts = features.partial(table=read()).map(kind=["time", "text", "image"])',
                'raw = read(); parts = [features(kind, raw) for kind in ("time", "text", "image")]',
            ),
            ("combine(parts)", "combine(*parts)"),
        ),
    ),
    "two parameters for a list of accuracies": (
        "text_model_selection",
        (
            ("better(accuracies: list[float])", "better(bert: float, lstm: float)"),
            ("max(accuracies)", "max(bert, lstm)"),
            (
                'better(train.partial(tokens=tokenize()).map(model=["BERT", "LSTM"]))',
                'better(*[train(name, tokens) for name in ("BERT", "LSTM")])',
            ),
            ("    best = ", "    tokens = tokenize()\n    best = "),
        ),
    ),
    "parameters for lists at two levels": (
        "two_level_selection",
        (
            ("better(accuracies: list[float])", "better(tree: float, forest: float)"),
            ("max(accuracies)", "max(tree, forest)"),
            ("mean(accuracies: list[float])", "mean(wine: float, digits: float)"),
            ("sum(accuracies) / len(accuracies)", "(wine + digits) / 2"),
            (
                'better(train.partial(data=data).map(model=["tree", "forest"]))',
                'better(train(data, "tree"), train(data, "forest"))',
            ),
            (
                'mean(couler.map(best_for, ["wine", "digits"]))',
                'mean(best_for("wine"), best_for("digits"))',
            ),
        ),
    ),
    "three parameters for a list of scores": (
        "zipped_grid",
        (
            (
                "largest(scores: list[float])",
                "largest(tree: float, forest: float, boosting: float)",
            ),
            ("max(scores)", "max(tree, forest, boosting)"),
            (
                'fit.map(model=["tree", "forest", "boosting"], depth=[2, 4, 3])',
                '[fit("tree", 2), fit("forest", 4), fit("boosting", 3)]',
            ),
            ("largest(scores)", "largest(*scores)"),
        ),
    ),
    "not heads for tails": ("coin", (('side == "tails"', 'side != "heads"'),)),
    "otherwise for tails": (
        "coin",
        (
            ('couler.when(side == "heads"):', 'couler.when(side == "heads") as heads:'),
            ('couler.when(side == "tails")', "heads.otherwise()"),
        ),
    ),
    "the names of the stores for the report": (
        "forecast_many_stores",
        (
            ("report(forecasts: list[int])", "report(stores: list[str], forecasts: list[int])"),
            ("report(pieces)", "report(wf.params.stores, pieces)"),
        ),
    ),
    "the names of the models as a literal list": (
        "image_model_selection",
        (
            (
                "select(results: list[Validation])",
                "select(names: list[str], results: list[Validation])",
            ),
            ("select(results)", "select(MODELS, results)"),
        ),
    ),
    "the bound of the map as one of the run": (
        "two_at_a_time",
        ((", max_parallel=2)", ")"), ('Workflow("videos")', 'Workflow("videos", max_parallel=2)')),
    ),
    "the name of each model for its validation": (
        "image_model_selection",
        (
            ("validate(model: File, data: File)", "validate(model: File, data: File, name: str)"),
            (".map(model=models)", ".map(model=models, name=MODELS)"),
        ),
    ),
    "accuracies and a literal list of names": (
        "image_model_selection",
        (
            ("data: File) -> Validation", "data: File) -> float"),
            ("return Validation(name, 0.9 + len(name) / 1000)", "return 0.9 + len(name) / 1000"),
            ("select(results: list[Validation])", "select(names: list[str], results: list[float])"),
            (
                "max(results, key=lambda result: result.accuracy).model",
                "max(zip(results, names))[1]",
            ),
            ("select(results)", "select(MODELS, results)"),
        ),
    ),
}
"""By what is written in another way: the item and the edits."""

WRONG: dict[str, tuple[str, Edits]] = {
    # conditions
    "a bound left out of a condition": ("quality_gate", (("precision > wf", "precision >= wf"),)),
    "a condition turned round": ("data_quality", (("table) == 0", "table) != 0"),)),
    "another constant in a condition": ("text_model_selection", (("0.85", "0.58"),)),
    "or for and": ("two_conditions_joined", (("0.9) & (", "0.9) | ("),)),
    "and for or": ("either_is_enough", (("0) | (", "0) & ("),)),
    "sides swapped": (
        "champion_and_challenger",
        (("challenger > champion", "champion > challenger"),),
    ),
    "a condition left out": (
        "retrain_on_drift",
        (
            (
                "    with couler.when(drift() > wf.params.limit):",
                "    with couler.group('all'):\n        drift()",
            ),
        ),
    ),
    "a constant for a parameter in a condition": (
        "retrain_on_drift",
        (("drift() > wf.params.limit", "drift() > 0.3"),),
    ),
    "an inner condition left out": (
        "nested_decisions",
        (("        with couler.when(sum_ > 1000):\n            sign", "        sign"),),
    ),
    "branches swapped": (
        "coin",
        (('== "heads"', '== "x"'), ('== "tails"', '== "heads"'), ('== "x"', '== "tails"')),
    ),
    "another text than the coin gives": ("coin", (('side == "tails"', 'side != "tails"'),)),
    "a coin with three sides": (
        "coin",
        (
            ('["heads", "tails"]', '["heads", "tails", "edge"]'),
            ('side == "tails"', 'side != "heads"'),
        ),
    ),
    "a loop that goes on for too long": ("halve_until_small", (("better > 0.1", "better > 0.01"),)),
    "a loop with another bound": (
        "flip_until_heads",
        (("max_iterations=12", "max_iterations=21"),),
    ),
    "a loop that carries nothing": (
        "early_stopping",
        (("rounds.next(loss)", "rounds.next(gain)"),),
    ),
    # order
    "an edge dropped": (
        "release_chain",
        (("build >> test >> package", "build >> [test, package]"),),
    ),
    "all in a row": ("diamond", (("a >> [b, c] >> d", "a >> b >> c >> d"),)),
    "after success only": ("clean_up_anyway", (("couler.completion(test)", "test"),)),
    "after completion, not after failure": (
        "roll_back",
        (("couler.failure", "couler.completion"),),
    ),
    "both instead of either": ("first_mirror", (("couler.any_of(eu, us)", "[eu, us]"),)),
    "a handler for any end": ("alert_on_failure", (('status="failure"', 'status="any"'),)),
    "handlers swapped": (
        "tell_either_way",
        (
            ('say("fine")', 'say("x")'),
            ('say("broken")', 'say("fine")'),
            ('say("x")', 'say("broken")'),
        ),
    ),
    # data
    "validated on the training data": (
        "image_model_selection",
        (("data=data.validation", "data=data.train"),),
    ),
    "arguments of a function swapped": (
        "full_automl",
        (
            ("data=data.test", "data=data.train"),
            ("data=data.train).map(model=MODELS", "data=data.test).map(model=MODELS"),
        ),
    ),
    "another result": ("ensemble", (("fit_network(data)))", "fit_forest(data)))"),)),
    "a constant for a result": ("best_or_fallback", (("retrain(rows)", "retrain(5)"),)),
    "another default of a value": (
        "best_or_fallback",
        (("or_else(score, 0.5)", "or_else(score, 0.9)"),),
    ),
    "an argument left out": (
        "forecast_many_stores",
        (
            (", horizon=wf.params.horizon", ""),
            ("store: str, horizon: int", "store: str"),
            ("* horizon", "* 14"),
        ),
    ),
    "one item too few": ("greet_cities", (('"Paris", ', ""),)),
    "another item": ("two_at_a_time", (('"d.mp4"', '"e.mp4"'),)),
    "words swapped": (
        "echo_of_a_result",
        (('["echo", "host:"], args=[host.result]', '["echo"], args=[host.result, "host:"]'),),
    ),
    "a list that is not known, written out": (
        "python_makes_work_for_containers",
        (("couler.map(bill, tenants())", 'tenants()\n    couler.map(bill, ["acme", "globex"])'),),
    ),
    "a list for a parameter": (
        "configurable_regions",
        (("couler.map(sync, wf.params.regions)", 'couler.map(sync, ["eu", "us"])'),),
    ),
    # parameters
    "another default of a parameter": ("cross_validation", (("seed=7", "seed=8"),)),
    "a default where none is asked for": ("required_date", (("day=str", 'day="today"'),)),
    "another name of a parameter": (
        "numbered_shards",
        (("shards=8", "parts=8"), ("params.shards", "params.parts")),
    ),
    "choices left out": (
        "chosen_kind",
        (('couler.Parameter("svm", choices=["svm", "forest"])', '"svm"'),),
    ),
    "the same model twice": ("two_level_selection", (('"forest"])', '"tree"])'),)),
    # policies
    "a retry left out": (
        "patient_download",
        (('        retry=couler.Retry(limit=4, wait="10s", factor=2, cap="2m"),\n', ""),),
    ),
    "a retry of another step": (
        "forecast_many_stores",
        (
            ("@couler.step(retry=1)\ndef forecast", "@couler.step\ndef forecast"),
            ("@couler.step\ndef load", "@couler.step(retry=1)\ndef load"),
        ),
    ),
    "waits that do not grow": ("patient_download", (("factor=2", "factor=1"),)),
    "retries of the steps, not of the group": (
        "retried_together",
        (
            ('"booking", retry=2', '"booking"'),
            ('"flight"], ', '"flight"], retry=2, '),
            ('"hotel"], ', '"hotel"], retry=2, '),
        ),
    ),
    "defaults left out": ("careful_defaults", ((", defaults=DEFAULTS", ""),)),
    "another time limit": ("bounded_migration", (("15m", "15s"),)),
    "another amount of memory": ("gpu_training", (("32Gi", "32Mi"),)),
    "no GPU": ("own_image_for_python", ((", gpu=1", ""),)),
    "no cache": ("cached_features", (("cache=True", "cache=None"),)),
    "another schedule": ("weekday_report", (("30 7", "7 13"),)),
    "another time zone": ("weekday_report", (('1-5"', '1-5", timezone="Europe/Berlin"'),)),
    "another key of a secret": ("database_password", (('key="password"', 'key="user"'),)),
    "no mutex": ("one_deployment_at_a_time", (('mutex="production", ', ""),)),
    "another object": ("books_from_s3", (("books/moby.txt", "books/dick.txt"),)),
    "another path of an object": (
        "books_from_s3",
        (('S3Artifact("/in/book.txt"', 'S3Artifact("/in/text.txt"'),),
    ),
    "another node label": ("on_ssd_nodes", (('"ssd"', '"hdd"'),)),
    "another image": ("hello", (("busybox:1.37", "busybox:1.36"),)),
    "another method": ("webhook", (('"POST"', '"PUT"'),)),
    "another bound on parallel steps": ("two_at_a_time", (("max_parallel=2", "max_parallel=3"),)),
    "no success condition": (
        "kubernetes_job",
        (('        success_condition="status.succeeded > 2",\n', ""),),
    ),
}
"""By the fault that is planted: the item and the edits."""

SQUARES = "add(square.map(number=[1, 2, 3, 4]))"

BLOCK = "with couler.Workflow"

SAME_OUTCOMES: dict[str, tuple[str, Edits]] = {
    "a step that makes the list": (
        "sum_of_squares",
        (
            ("[1, 2, 3, 4]", "numbers()"),
            (
                BLOCK,
                f"@couler.step\ndef numbers() -> list[int]:\n    return [1, 2, 3, 4]\n\n{BLOCK}",
            ),
        ),
    ),
    "a step that gives out the decision": (
        "quality_gate",
        (
            ("couler.first_of(live, held)", "decide(couler.first_of(live, held))"),
            (BLOCK, f"@couler.step\ndef decide(word: str) -> str:\n    return word\n\n{BLOCK}"),
        ),
    ),
    "a step that shows the best": (
        "word_count",
        (
            ("best(count(", "shown(best(count("),
            ("params.text)))", "params.text))))"),
            (BLOCK, f"@couler.step\ndef shown(text: str) -> str:\n    return text\n\n{BLOCK}"),
        ),
    ),
}
"""Answers with other graphs whose outcomes are equal, where an item asks for no more."""

OTHER_OUTCOMES: dict[str, tuple[str, Edits]] = {
    "a bound left out of a condition": ("quality_gate", (("precision > wf", "precision >= wf"),)),
    "a loop that goes on for too long": ("halve_until_small", (("better > 0.1", "better >= 0.1"),)),
    "one step for all": (
        "sum_of_squares",
        (
            (SQUARES, "add([1, 2, 3, 4])"),
            ("sum(numbers)", "sum(number * number for number in numbers)"),
        ),
    ),
    "one after another": (
        "sum_of_squares",
        (
            (
                "    wf.output",
                "    found = [square(number) for number in (1, 2, 3, 4)]\n    wf.output",
            ),
            ("    wf.output", "    found[0] >> found[1] >> found[2] >> found[3]\n    wf.output"),
            (SQUARES, "add(found)"),
        ),
    ),
    "a schedule that nobody asked for": (
        "word_count",
        (
            ('or not to be")', 'or not to be", schedule=couler.Schedule("0 3 * * *"))'),
            ("count(split(wf.params.text))", "count(split(split(wf.params.text)[0]))"),
        ),
    ),
    "the default for the parameter": ("chosen_kind", (("train(wf.params.kind)", 'train("svm")'),)),
}
"""Answers that runs, or what no run shows, tell from the reference."""

INVENTED: dict[str, tuple[str, Edits]] = {
    "a zoo step that does not exist": ("zoo_iris", (("sklearn.train", "sklearn.fit"),)),
    "a zoo module that does not exist": (
        "zoo_loans",
        (("xgboost.train", "couler.steps.xgb.train"),),
    ),
    "a class of a zoo step": ("zoo_katib", (("katib.run(", "katib.Experiment("),)),
    "an argument that a zoo step lacks": ("zoo_pytorch", (("num_workers=4", "workers=4"),)),
    "another argument that a zoo step lacks": (
        "zoo_tensorflow",
        (("num_ps=1", "parameter_servers=1"),),
    ),
    "a method that does not exist": (
        "dataset_volume",
        (("couler.add_volume(", "couler.Workflow.add_volume("),),
    ),
    "a file as an argument": (
        "line_counts",
        (("args=[numbers.numbers]", 'args=[File("numbers.txt")]'),),
    ),
}
"""Calls that do not exist, and files that are passed in no way that there is."""
