import couler


@couler.step
def tenants() -> list[str]:
    return ["acme", "globex"]


def bill(tenant):
    return couler.run_container(
        "registry.example.org/billing:3", ["bill"], args=[tenant], step_name="bill"
    )


with couler.Workflow("billing"):
    couler.map(bill, tenants())
