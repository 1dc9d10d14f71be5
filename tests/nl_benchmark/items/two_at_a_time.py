import couler


def transcode(file):
    return couler.run_container(
        "registry.example.org/video:1", ["transcode"], args=[file], step_name="transcode"
    )


with couler.Workflow("videos"):
    couler.map(transcode, ["a.mp4", "b.mp4", "c.mp4", "d.mp4"], max_parallel=2)
