import couler

IMAGE = "registry.example.org/release:7"

with couler.Workflow("release"):
    build = couler.run_container(IMAGE, ["build"], step_name="build")
    test = couler.run_container(IMAGE, ["test"], step_name="test")
    package = couler.run_container(IMAGE, ["package"], step_name="package")
    upload = couler.run_container(IMAGE, ["upload"], step_name="upload")
    build >> test >> package >> upload
