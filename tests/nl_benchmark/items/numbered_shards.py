import couler


def reindex(number):
    return couler.run_container(
        "registry.example.org/search:6", ["reindex"], args=[number], step_name="reindex"
    )


with couler.Workflow("reindex", shards=8) as wf:
    couler.map(reindex, couler.sequence(count=wf.params.shards))
