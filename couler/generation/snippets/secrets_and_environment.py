"""Passwords and tokens from secrets, and other environment variables of a step.

Credentials, database password, API token; a secret is named and never written.
"""

import couler
from couler.ir.storage import ConfigKey, SecretKey

with couler.Workflow("export") as wf:
    couler.run_container(
        "postgres:17",
        ["sh", "-c", "pg_dump --host $HOST shop > dump.sql"],
        env={
            "PGPASSWORD": SecretKey(secret="shop-database", key="password"),
            "HOST": ConfigKey(config_map="shop", key="host"),
            "PGUSER": "exporter",
        },
        working_dir=".",
        name="dump",
    )
