"""Steps that run only if another one failed, and steps that run however it ended.

Alert on failure, clean up in any case, completion.
"""

import couler

with couler.Workflow("careful-import") as wf:
    load = couler.run_container("alpine:3.20", ["true"], name="load")
    alert = couler.run_container("alpine:3.20", ["echo", "the import failed"], name="alert")
    clean = couler.run_container("alpine:3.20", ["echo", "cleaned"], name="clean")
    couler.failure(load) >> alert
    couler.completion(load) >> clean
