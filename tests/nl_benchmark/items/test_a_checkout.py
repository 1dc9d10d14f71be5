import couler

with couler.Workflow("checkout"):
    couler.run_container(
        "golang:1.23",
        ["go", "test", "./..."],
        input=couler.GitArtifact("/src", repo="https://git.example.org/app.git", revision="v2.1"),
        working_dir="/src",
        step_name="test",
    )
