import couler
from couler.ir.storage import SecretKey

with couler.Workflow("dump"):
    couler.run_container(
        "postgres:17",
        ["pg_dump", "shop"],
        env={"PGPASSWORD": SecretKey(secret="warehouse", key="password")},
        step_name="dump",
    )
