"""README's program and the sweep, as one writes them with Hera: scripts without checks."""

# No annotations as texts: Hera reads those of functions.

import json
import typing as t

from hera.workflows import (
    DAG,
    NoneArchiveStrategy,
    Parameter,
    Resources,
    RetryStrategy,
    S3Artifact,
    Workflow,
    models,
    script,
)

IMAGE = "python:3.12-slim"


def _outputs(*names: str) -> list[Parameter]:
    return [Parameter(name=one, value_from=models.ValueFrom(path=f"/tmp/{one}")) for one in names]


def _file(name: str, key: str) -> S3Artifact:
    return S3Artifact(name=name, path=f"/tmp/{name}", key=key, archive=NoneArchiveStrategy())


@script(
    image=IMAGE,
    resources=Resources(memory_limit="256Mi"),
    retry_strategy=RetryStrategy(limit=2),
    outputs=_outputs("result"),
)
def train(model: str, seed: int) -> None:
    import random

    score = round(random.Random(f"{model}-{seed}").uniform(0.8, 1.0), 3)
    with open("/tmp/result", "w") as out:
        out.write(str(score))


@script(image=IMAGE, outputs=_outputs("model", "score"))
def pick(models: list, scores: list) -> None:  # type: ignore[type-arg]
    score, model = max(zip(map(float, scores), models, strict=True))
    with open("/tmp/model", "w") as out:
        out.write(model)
    with open("/tmp/score", "w") as out:
        out.write(str(score))


@script(image=IMAGE)
def publish(model: str) -> None:
    print(f"published {model}")


def choose() -> str:
    """Return the manifest of README's program."""
    kinds = ["linear", "forest", "boosting"]
    seed = Parameter(name="seed", value="7")
    with (
        Workflow(generate_name="choose-", entrypoint="main", arguments=seed) as workflow,
        DAG(name="main"),
    ):
        trained: t.Any = train(
            arguments={"model": "{{item}}", "seed": "{{workflow.parameters.seed}}"},
            with_items=kinds,
        )
        picked: t.Any = pick(
            arguments={
                "models": json.dumps(kinds),
                "scores": "{{tasks.train.outputs.parameters.result}}",
            }
        )
        published: t.Any = publish(
            arguments={"model": "{{tasks.pick.outputs.parameters.model}}"},
            when="{{tasks.pick.outputs.parameters.score}} > 0.9",
        )
        trained >> picked >> published
    return str(workflow.to_yaml())


@script(image=IMAGE, outputs=[_file("data", "{{workflow.name}}/data")])
def points(count: int, seed: int) -> None:
    import random

    draw = random.Random(seed)
    with open("/tmp/data", "w") as file:
        for index in range(count):
            file.write(f"{index / count},{index / count + draw.gauss(0, 0.1)}\n")


@script(image=IMAGE, outputs=_outputs("rows"))
def grid(most: int) -> None:
    import json

    pairs = [(degree, penalty) for degree in range(1, most + 1) for penalty in (0.01, 0.1)]
    with open("/tmp/rows", "w") as out:
        json.dump([{"degree": degree, "penalty": penalty} for degree, penalty in pairs], out)


@script(
    image=IMAGE,
    inputs=[_file("data", "{{workflow.name}}/data")],
    resources=Resources(cpu_limit=1, memory_limit="512Mi"),
    retry_strategy=RetryStrategy(limit=2),
    active_deadline_seconds=300,
    outputs=_outputs("fit"),
)
def fit(degree: int, penalty: float) -> None:
    import json

    with open("/tmp/data") as file:
        count = sum(1 for _ in file)
    error = round(abs(degree - 3) * 0.1 + penalty + 1 / count, 4)
    with open("/tmp/fit", "w") as out:
        json.dump({"degree": degree, "penalty": penalty, "error": error}, out)


@script(image=IMAGE, outputs=_outputs("degree", "penalty", "error"))
def best_of(fits: list) -> None:  # type: ignore[type-arg]
    best = min(fits, key=lambda one: one["error"])
    for name, value in best.items():
        with open(f"/tmp/{name}", "w") as out:
            out.write(str(value))


@script(
    image=IMAGE,
    inputs=[_file("data", "{{workflow.name}}/data")],
    outputs=[_file("model", "models/best.json")],
)
def refit(degree: int, penalty: float) -> None:
    import json

    with open("/tmp/data") as file, open("/tmp/model", "w") as model:
        json.dump({"degree": degree, "penalty": penalty, "points": len(file.readlines())}, model)


def sweep() -> str:
    """Return the manifest of the sweep."""
    given = [Parameter(name=name, value=value) for name, value in (("count", 500), ("most", 4))]
    given.append(Parameter(name="seed", value=1))
    best = "{{{{tasks.best-of.outputs.parameters.{}}}}}".format
    with (
        Workflow(
            generate_name="sweep-", entrypoint="main", arguments=given, parallelism=4
        ) as workflow,
        DAG(name="main"),
    ):
        parameter = "{{{{workflow.parameters.{}}}}}".format
        data: t.Any = points(arguments={"count": parameter("count"), "seed": parameter("seed")})
        rows: t.Any = grid(arguments={"most": parameter("most")})
        fits: t.Any = fit(
            arguments={"degree": "{{item.degree}}", "penalty": "{{item.penalty}}"},
            with_param="{{tasks.grid.outputs.parameters.rows}}",
        )
        found: t.Any = best_of(arguments={"fits": "{{tasks.fit.outputs.parameters.fit}}"})
        model: t.Any = refit(arguments={"degree": best("degree"), "penalty": best("penalty")})
        [data, rows] >> fits
        fits >> found >> model
    return str(workflow.to_yaml())
