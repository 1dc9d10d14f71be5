import couler

IMAGE = "registry.example.org/mirror:1"

with couler.Workflow("mirrors"):
    eu = couler.run_container(IMAGE, ["fetch", "eu"], step_name="eu")
    us = couler.run_container(IMAGE, ["fetch", "us"], step_name="us")
    unpack = couler.run_container(IMAGE, ["unpack"], step_name="unpack")
    couler.any_of(eu, us) >> unpack
