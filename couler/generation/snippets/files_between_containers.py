"""A container writes a file that the next one reads: artifacts between commands.

Output file, input file, working folder.
"""

import couler
from couler import File

with couler.Workflow("lines") as wf:
    made = couler.run_container(
        "alpine:3.20",
        ["sh", "-c", "seq 100 > lines.txt"],
        output={"lines": File("lines.txt")},
        working_dir=".",
        name="make",
    )
    count = couler.run_container(
        "alpine:3.20",
        ["sh", "-c", "wc -l < data/lines.txt"],
        input={"data/lines.txt": made.lines},
        working_dir=".",
        name="count",
    )
    wf.output("lines", made.lines)
    wf.output("count", count)
