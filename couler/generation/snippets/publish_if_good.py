"""A condition on a metric: publish the model if it is good enough, and reject it otherwise.

Decision, threshold, deployment gate; when and otherwise, and the merge of both branches.
"""

import couler


@couler.step
def validate_model() -> float:
    return 0.93


@couler.step(retry=2)
def publish_model(accuracy: float) -> str:
    return f"published with {accuracy:.2f}"


@couler.step
def reject_model(accuracy: float, least: float) -> str:
    return f"rejected: {accuracy:.2f} is below {least:.2f}"


with couler.Workflow("gated-release", least=0.9) as wf:
    accuracy = validate_model()
    with couler.when(accuracy >= wf.params.least) as gate:
        done = publish_model(accuracy)
    with gate.otherwise():
        refused = reject_model(accuracy, wf.params.least)
    wf.output("outcome", couler.first_of(done, refused))
