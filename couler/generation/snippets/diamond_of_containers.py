"""Containers that run in parallel after a first one, and a last one that waits for all of them.

Fan out, fan in, diamond, join of parallel branches.
"""

import couler

with couler.Workflow("survey") as wf:
    fetch = couler.run_container("alpine:3.20", ["echo", "fetched"], name="fetch")
    left = couler.run_container("alpine:3.20", ["echo", "left half"], name="left")
    right = couler.run_container("alpine:3.20", ["echo", "right half"], name="right")
    merge = couler.run_container("alpine:3.20", ["echo"], args=[left, right], name="merge")
    fetch >> [left, right]
    wf.output("merged", merge)
