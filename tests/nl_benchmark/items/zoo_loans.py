import couler
from couler import Dataset
from couler.ir.storage import SecretKey
from couler.steps import xgboost

LOANS = Dataset(table_name="loans", feature_cols="income,debt,years", label_col="repaid")

with couler.Workflow("loans") as wf:
    fitted = xgboost.train(
        LOANS,
        {"objective": "binary:logistic", "max_depth": 4},
        {"num_boost_round": 80},
        env={"DATASET_URL": SecretKey(secret="bank", key="address")},
    )
    wf.output("score", fitted.score)
