# A salted name, a submitter for all workflows of the program, and variables from elsewhere.
import couler.argo as couler


class PrintingSubmitter:
    def submit(self, workflow):
        print("submitted %s as %s" % (workflow.name, workflow.to_ir().pod.service_account))


def salted(name):
    return "%s-2024-06-01" % name


couler.config_defaults(name_salter=salted, service_account="pipeline")
couler.set_default_submitter(PrintingSubmitter())
couler.config_workflow(name="nightly")


def connect():
    return couler.run_container(
        image="alpine:3.20",
        command=["sh", "-c", 'echo "$DB_USER@$HOST, $COUNT, $DEBUG"'],
        env={"COUNT": 3, "DEBUG": True},
        env_from=[
            {"prefix": "DB_", "secretRef": {"name": "database"}},
            {"configMapRef": {"name": "site"}},
        ],
        step_name="connect",
    )


connect()
couler.run()
