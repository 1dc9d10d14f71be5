import couler

with couler.Workflow("probe", timeout="1h", max_parallel=2):
    for host in ("alpha", "beta", "gamma"):
        couler.run_container(
            "registry.example.org/probe:1", ["probe", host], step_name=f"probe-{host}"
        )
