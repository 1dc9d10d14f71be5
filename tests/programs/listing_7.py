# Listing 7 of the Couler paper: two kinds of models are trained on the same table side by side.
import couler.argo as couler
from couler.argo import Dataset
from couler.argo_submitter import ArgoSubmitter
from couler.steps import xgboost
from couler.steps.lightgbm import LightGBMEstimator


def train_xgboost():
    train_data = Dataset(
        table_name="pai_telco_demo_data",
        feature_cols="tenure,age,marital,address,ed,employ",
        label_col="churn",
    )

    model_params = {"objective": "binary:logistic"}
    train_params = {"num_boost_round": 10, "max_depth": 5}

    return xgboost.train(
        datasource=train_data,
        model_params=model_params,
        train_params=train_params,
        image="xgboost-image",
    )


def train_lgbm():
    train_data = Dataset(
        table_name="pai_telco_demo_data",
        feature_cols="tenure,age,marital,address,ed,employ",
        label_col="churn",
    )

    lgb = LightGBMEstimator()
    lgb.set_hyperparameters(num_leaves=63, num_iterations=200)
    lgb.model_path = "lightgbm_model"
    return lgb.fit(train_data)


couler.concurrent([lambda: train_xgboost(), lambda: train_lgbm()])
couler.run(submitter=ArgoSubmitter())
