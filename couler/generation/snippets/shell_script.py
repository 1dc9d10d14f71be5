"""A script of several lines for an interpreter, with arguments from other steps.

Shell, bash, inline Python source, args.
"""

import couler

REPORT = """
set -e
echo "found $1 rows"
echo "limit is $2"
"""

with couler.Workflow("script", limit=10) as wf:
    rows = couler.run_container("alpine:3.20", ["echo", "42"], name="rows")
    report = couler.run_script(
        image="alpine:3.20",
        command="sh",
        source=REPORT,
        args=[rows, wf.params.limit],
        name="report",
    )
    wf.output("report", report)
