import couler


@couler.step
def work() -> int:
    return 41


@couler.step
def report(status: str) -> None:
    print("the run", status)


with couler.Workflow("reported") as wf:
    wf.output("answer", work())
    wf.on_exit(lambda: report(wf.run_facts.status), name="report")
