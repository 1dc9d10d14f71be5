import couler


@couler.step
def overloaded() -> int:
    return 2


@couler.step
def restart(server: str) -> None:
    print("restarted", server)


with couler.Workflow("servers"):
    with couler.when(overloaded() > 0):
        restart.map(server=["web1", "web2", "web3"])
