"""Variables from entries of secrets; an optional entry that is missing leaves its variable out."""

from couler.ir.storage import EnvVar, SecretKey
from tests.corpus.build import Expected, flow, sh

workflow = flow(
    "secret-variables",
    sh(
        "shows",
        # The value itself stays out of the outputs.
        r"""test "$PASSWORD" = "p a\$\$'ss" && echo "right ${OTHER-unset}" """,
        env=[
            EnvVar(name="PASSWORD", secret=SecretKey(secret="db", key="password")),
            EnvVar(name="OTHER", secret=SecretKey(secret="db", key="other", optional=True)),
        ],
    ),
)
secrets = {"db": {"password": "p a$$'ss"}}
expected = Expected("succeeded", succeeded="shows", outputs={"shows": {"result": "right unset"}})
