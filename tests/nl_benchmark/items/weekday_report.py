import couler

IMAGE = "registry.example.org/report:5"

with couler.Workflow("weekday-report", schedule=couler.Schedule("30 7 * * 1-5")):
    query = couler.run_container(IMAGE, ["query"], step_name="query")
    mail = couler.run_container(IMAGE, ["mail"], step_name="mail")
    query >> mail
