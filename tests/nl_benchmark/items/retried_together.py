import couler

IMAGE = "registry.example.org/travel:1"

with couler.Workflow("trip"):
    with couler.group("booking", retry=2):
        flight = couler.run_container(IMAGE, ["book", "flight"], step_name="flight")
        hotel = couler.run_container(IMAGE, ["book", "hotel"], step_name="hotel")
        flight >> hotel
