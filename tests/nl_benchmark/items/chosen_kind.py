import couler


@couler.step
def train(kind: str) -> str:
    return f"trained {kind}"


with couler.Workflow("choice", kind=couler.Parameter("svm", choices=["svm", "forest"])) as wf:
    wf.output("told", train(wf.params.kind))
