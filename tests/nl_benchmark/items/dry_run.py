import couler


@couler.step
def plan() -> int:
    return 3


@couler.step
def apply(changes: int) -> None:
    print("applied", changes)


with couler.Workflow("plan", dry_run=True) as wf:
    changes = plan()
    with couler.when(wf.params.dry_run == False):  # noqa: E712
        apply(changes)
