import couler


@couler.step
def measure() -> float:
    return 0.97


@couler.step
def go_live(precision: float) -> str:
    return "live"


@couler.step
def hold_back(precision: float) -> str:
    return "held"


with couler.Workflow("spam-filter", least=0.95) as wf:
    precision = measure()
    with couler.when(precision > wf.params.least) as precise:
        live = go_live(precision)
    with precise.otherwise():
        held = hold_back(precision)
    wf.output("decision", couler.first_of(live, held))
