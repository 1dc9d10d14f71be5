import couler


def sync(region):
    return couler.run_container(
        "registry.example.org/sync:1", ["sync"], args=[region], step_name="sync"
    )


with couler.Workflow("regions", regions=["eu", "us"]) as wf:
    couler.map(sync, wf.params.regions)
