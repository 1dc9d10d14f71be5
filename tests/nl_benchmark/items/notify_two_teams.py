import couler


@couler.step
def build() -> str:
    return "1.2.3"


@couler.step
def notify(team: str, version: str) -> None:
    print(team, version)


with couler.Workflow("build"):
    version = build()
    notify("developers", version)
    notify("testers", version)
