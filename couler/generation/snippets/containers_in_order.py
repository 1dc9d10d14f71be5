"""Run commands in container images one after the other, with no data between them.

Sequence, order, chain of containers with >>.
"""

import couler

with couler.Workflow("release-steps") as wf:
    lint = couler.run_container("python:3.12-slim", ["python", "-V"], name="lint")
    package = couler.run_container("alpine:3.20", ["tar", "--version"], name="package")
    upload = couler.run_container("alpine:3.20", ["echo", "uploaded"], name="upload")
    lint >> package >> upload
