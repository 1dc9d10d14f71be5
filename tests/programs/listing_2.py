# Listing 2 of the Couler paper: a value that one step writes and another takes.
import couler.argo as couler


def producer(step_name):
    output_path = "/opt/hello_world.txt"
    output_place = couler.create_parameter_artifact(path=output_path, is_global=True)
    return couler.run_container(
        image="docker/whalesay:latest",
        args=["echo -n hello world > %s" % output_place.path],
        command=["bash", "-c"],
        output=output_place,
        step_name=step_name,
    )


def consumer(step_name, input):
    couler.run_container(
        image="docker/whalesay:latest",
        command=["cowsay"],
        args=[input],  # left out in print, where nothing would reach the consumer
        step_name=step_name,
    )


output = producer("step1")
consumer("step2", output)
