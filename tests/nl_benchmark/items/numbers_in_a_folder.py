import couler
from couler import Directory, File


@couler.step
def scatter() -> Directory:
    from pathlib import Path

    folder = Path("scattered")
    folder.mkdir()
    for number in range(4):
        (folder / f"{number}.number").write_text(f"{number}")
    return Directory("scattered")


@couler.step
def gather(folder: Directory) -> File:
    from pathlib import Path

    found = [int(one.read_text()) for one in Path(folder).glob("*.number")]
    Path("sum").write_text(f"{sum(found)}")
    return File("sum")


@couler.step
def tell(number: File) -> int:
    from pathlib import Path

    return int(Path(number).read_text())


with couler.Workflow("scattered-numbers") as wf:
    wf.output("total", tell(gather(scatter())))
