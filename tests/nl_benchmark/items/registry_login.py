import couler

with couler.Workflow("push"):
    login = couler.obtain_secret(["user", "token"], name="registry")
    couler.run_container(
        "registry.example.org/pusher:1", ["push", "app"], secret=login, step_name="push"
    )
