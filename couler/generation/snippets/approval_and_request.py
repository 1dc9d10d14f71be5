"""Wait for a person to approve, then call a web service: suspend and http.

Manual approval, pause, REST call, webhook, deployment.
"""

import couler
from couler.ir.storage import SecretKey

with couler.Workflow("rollout", version="1.4.0", site="https://deploy.example.org") as wf:
    approval = couler.suspend(name="approval", message="Roll this version out?")
    called = couler.http(
        couler.text("{}/rollouts", wf.params.site),
        "POST",
        headers={"Authorization": SecretKey(secret="deploy", key="token")},
        body=couler.text("version={}", wf.params.version),
        retry=2,
        timeout="30s",
        name="roll-out",
    )
    approval >> called
