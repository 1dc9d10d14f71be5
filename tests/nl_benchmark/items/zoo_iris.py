import couler
from couler import Dataset
from couler.steps import sklearn

with couler.Workflow("iris") as wf:
    found = couler.map(
        lambda kind: sklearn.train(kind, Dataset(name="iris"), step_name="train"),
        ["SVC", "GaussianNB", "KNeighborsClassifier"],
    )
    wf.output("scores", found.score)
