"""Locks of steps and of the workflow: several mutexes, a semaphore whose size is an entry."""

from couler.ir.policies import Mutex, Semaphore
from couler.ir.storage import ConfigKey
from tests.corpus.build import Expected, flow, item, sh

TWO = Semaphore(limit=ConfigKey(config_map="limits", key="gpus"))
SHARED = Mutex(name="disk")

workflow = flow(
    "locks",
    sh("each", 'echo "$1"', item(), foreach=[1, 2, 3], locks=[TWO, SHARED]),
    sh("other", "echo x", mutex="one", locks=[SHARED]),
    locks=[Mutex(name="whole")],
)
config_maps = {"limits": {"gpus": "2"}}
expected = Expected(
    "succeeded",
    succeeded="each each[0] each[1] each[2] other",
    outputs={"each": {"result": ["1", "2", "3"]}, "other": {"result": "x"}},
)
