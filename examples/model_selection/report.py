"""The steps that draw and write the report of model_selection.py."""

from typing import NamedTuple

import couler
from couler import Directory, File


class Score(NamedTuple):
    name: str
    accuracy: float
    f1: float
    auc: float
    seconds: float


@couler.step(packages=["scikit-learn", "matplotlib"], cpu=1, memory="1Gi", timeout="10m")
def draw(scores: list[Score], best: str, predictions: File) -> Directory:
    """Draw the models side by side, and where the best one is wrong."""
    import os

    import matplotlib
    import numpy
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure
    from sklearn.metrics import auc, confusion_matrix, roc_curve

    ink = "#010203"  # stands for the colour of the page's text, be it light or dark
    blue, orange, green, grey = "#0072b2", "#c04f00", "#009e73", "#8c8c8c"  # told apart by all eyes
    for part in ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"):
        matplotlib.rcParams[part] = ink
    matplotlib.rcParams.update({"svg.fonttype": "none", "axes.spines.top": False})
    matplotlib.rcParams.update({"font.size": 11, "axes.spines.right": False})
    os.makedirs("plots")

    def save(figure: Figure, name: str) -> None:
        path = f"plots/{name}.svg"
        figure.savefig(path, transparent=True, metadata={"Date": None})
        with open(path, encoding="utf-8") as file:
            svg = file.read().replace(ink, "currentColor")
        for mark in (' id="', '"#', "url(#"):  # ids of several pictures must differ in one page
            svg = svg.replace(mark, f"{mark}{name}-")
        with open(path, "w", encoding="utf-8") as file:
            file.write(svg[svg.index("<svg") :])

    figure = Figure(figsize=(8, 2.6), layout="constrained")
    axes = figure.subplots()
    rows = sorted(scores, key=lambda score: score.accuracy, reverse=True)
    bars = axes.barh(
        [f"best: {row.name}" if row.name == best else row.name for row in rows],
        [100 * (1 - row.accuracy) for row in rows],
        color=[blue if row.name == best else grey for row in rows],
    )
    axes.bar_label(bars, fmt="%.1f %%", padding=4)
    axes.invert_yaxis()  # the first at the top
    axes.set_xlabel("wrong on the validation images, % (less is better)")
    save(figure, "models")

    arrays = numpy.load(predictions)
    truth, matrix = arrays["truth"], confusion_matrix(arrays["truth"], arrays["predicted"])
    figure = Figure(figsize=(5, 4.6), layout="constrained")
    axes = figure.subplots()
    cells = numpy.where(matrix > 0, numpy.eye(10), numpy.nan)  # nothing is drawn for NaN
    axes.imshow(cells, cmap=ListedColormap([orange, blue]), vmin=0, vmax=1)
    for row, column in numpy.argwhere(matrix):
        axes.text(column, row, matrix[row, column], color="white", ha="center", va="center")
    axes.set(xticks=range(10), yticks=range(10), xlabel="the model says", ylabel="the image shows")
    save(figure, "confusion")

    figure = Figure(figsize=(5, 4.6), layout="constrained")
    axes = figure.subplots()
    curves = []
    for digit in range(10):
        wrong, right, _ = roc_curve(truth == digit, arrays["scores"][:, digit])
        curves.append((auc(wrong, right), digit, wrong, right))
    curves.sort(key=lambda curve: curve[0])
    styles = [(orange, "-"), (blue, "--"), (green, ":")]
    for (area, digit, wrong, right), (colour, style) in zip(curves[:3], styles, strict=True):
        label = f"digit {digit}, area {area:.4f}"
        axes.plot(wrong, right, style, color=colour, label=label, linewidth=2.5, zorder=3)
    for *_, wrong, right in curves[3:]:
        axes.plot(wrong, right, color=grey)
    axes.plot([], color=grey, label="the other digits")
    axes.set(xlim=(-0.01, 0.5), ylim=(0.5, 1.01))
    axes.set(xlabel="false positive rate", ylabel="true positive rate")
    axes.legend(frameon=False, loc="lower right")
    save(figure, "roc")
    return Directory("plots")


@couler.step
def write_report(
    verdict: str,
    scores: list[Score],
    seconds: list[float],
    best: str,
    final: Score | None,
    plots: Directory,
    data: dict[str, int],
    parts: dict[str, int],
    seed: int,
    threshold: float,
    run: str,
) -> File:
    """Write one HTML page that needs nothing else: no network, no script, no other file."""
    import html
    import os
    from string import Template

    page = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Model selection</title>
<style>
body { max-width: 62rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; }
h2 { margin-top: 2.5rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem 1.2rem .3rem 0; text-align: right; border-bottom: 1px solid #8886; }
th:first-child, td:first-child, .fact td { text-align: left; }
.wide { overflow-x: auto; }
.best { font-weight: bold; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 2rem; }
figure { margin: 1rem 0; }
svg { width: 100%; height: auto; }
svg text { font-family: inherit !important; }
</style>
</head>
<body>
<h1>$verdict</h1>
<h2>Models, on the validation images</h2>
<div class="wide"><table>
<tr><th>model<th>accuracy<th>F1<th>area under ROC<th>prediction, s<th>training, s
$models
</table></div>
<figure role="img" aria-label="Bars: the share of wrong answers of each model">$bars</figure>
<h2>$best, on the $part images</h2>
$measured
<div class="pair">
<figure><div role="img" aria-label="Confusion matrix">$confusion</div>
<figcaption>Blue: right. Orange: taken for another digit.</figcaption></figure>
<figure><div role="img" aria-label="ROC curves, one digit against the rest">$roc</div>
<figcaption>ROC, each digit against the rest, enlarged: the upper left quarter.
The three weakest are named.</figcaption></figure>
</div>
<h2>Data and settings</h2>
<table>
$facts
</table>
</body>
</html>
""")

    def row(cells: list[object], kind: str = "") -> str:
        return f'<tr class="{kind}">' + "".join(f"<td>{html.escape(str(c))}" for c in cells)

    def svg(name: str) -> str:
        with open(os.path.join(plots, f"{name}.svg"), encoding="utf-8") as file:
            return file.read()

    facts = {"run": run, **data, **{f"{name} images": size for name, size in parts.items()}}
    facts |= {"least accuracy": threshold, "seed": seed}
    models = sorted(zip(scores, seconds, strict=True), reverse=True, key=lambda m: m[0].accuracy)
    rows = [
        row([name, *(f"{x:.4f}" for x in (*measures, took))], "best" if name == best else "")
        for (name, *measures), took in models
    ]
    text = page.substitute(
        verdict=html.escape(verdict),
        models="\n".join(rows),
        bars=svg("models"),
        best=html.escape(best.capitalize()),
        part="test" if final else "validation",
        measured=f"<p>Accuracy {final.accuracy}, F1 {final.f1}, area under ROC {final.auc}; "
        "these images had no part in training or choosing."
        if final
        else "",
        confusion=svg("confusion"),
        roc=svg("roc"),
        facts="\n".join(row([name, value], "fact") for name, value in facts.items()),
    )
    with open("report.html", "w", encoding="utf-8") as file:
        file.write(text)
    return File("report.html")
