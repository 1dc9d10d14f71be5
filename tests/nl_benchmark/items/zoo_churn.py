import couler
from couler import Dataset
from couler.ir.storage import SecretKey
from couler.steps import xgboost

with couler.Workflow("churn") as wf:
    customers = Dataset(table_name="customers", feature_cols="tenure,age,income", label_col="churn")
    trained = xgboost.train(
        customers,
        model_params={"objective": "binary:logistic", "max_depth": 5},
        train_params={"num_boost_round": 50},
        env={"DATASET_URL": SecretKey(secret="warehouse", key="url")},
    )
    wf.output("score", trained.score)
