import couler

IMAGE = "hashicorp/terraform:1.9"

with couler.Workflow("change"):
    plan = couler.run_container(IMAGE, ["terraform", "plan"], step_name="plan")
    approve = couler.suspend(step_name="approve", message="Apply this plan?")
    apply = couler.run_container(IMAGE, ["terraform", "apply"], step_name="apply")
    plan >> approve >> apply
