import couler
from couler import Directory, File


@couler.step
def write() -> Directory:
    import os

    os.makedirs("numbers")
    for number in range(4):
        with open(f"numbers/{number}.txt", "w") as file:
            file.write(str(number))
    return Directory("numbers")


@couler.step
def add(numbers: Directory) -> File:
    import os

    found = [int(open(os.path.join(numbers, name)).read()) for name in os.listdir(numbers)]
    with open("total.txt", "w") as file:
        file.write(str(sum(found)))
    return File("total.txt")


@couler.step
def read(total: File) -> int:
    with open(total) as file:
        return int(file.read())


with couler.Workflow("numbers") as wf:
    wf.output("total", read(add(write())))
