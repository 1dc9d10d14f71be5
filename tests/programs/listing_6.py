# Listing 6 of the Couler paper: models are trained with several batch sizes, and each is judged.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter


def train_tensorflow(batch_size):
    import couler.steps.tensorflow as tf

    return tf.train(
        num_ps=1,
        num_workers=1,
        command="python /train_model.py",
        image="wide-deep-model:v1.0",
        input_batch_size=batch_size,
    )


def run_multiple_jobs(num_jobs):
    para = []
    i = 0
    batch_size = 0
    while i < num_jobs:
        batch_size += 100
        para.append(batch_size)
        i = i + 1

    return couler.map(lambda x: train_tensorflow(x), para)


def evaluation(model_path):
    return couler.run_container(
        image="model_evalutation:v1",
        command=["python model_eval.py"],
        args=[model_path],
        step_name="eval",
    )


model_path = run_multiple_jobs(5)
couler.map(lambda x: evaluation(x), model_path)
couler.run(submitter=ArgoSubmitter())
