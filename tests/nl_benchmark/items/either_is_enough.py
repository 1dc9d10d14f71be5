import couler


@couler.step
def errors() -> int:
    return 2


@couler.step
def warnings() -> int:
    return 40


@couler.step
def open_ticket() -> None:
    print("a ticket")


with couler.Workflow("ticket"):
    with couler.when((errors() > 0) | (warnings() > 100)):
        open_ticket()
