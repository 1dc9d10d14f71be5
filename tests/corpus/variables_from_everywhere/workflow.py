"""Variables from entries of config maps, and all entries of a secret and a config map at once."""

from couler.ir.storage import ConfigKey, EnvFrom, EnvVar
from tests.corpus.build import Expected, flow, sh

workflow = flow(
    "variables-from-everywhere",
    sh(
        "shows",
        'echo "$LEVEL $DB_user $color ${level}"',
        env=[EnvVar(name="LEVEL", config=ConfigKey(config_map="settings", key="level"))],
        env_from=[EnvFrom(secret="db", prefix="DB_"), EnvFrom(config_map="settings")],
    ),
)
secrets = {"db": {"user": "me"}}
config_maps = {"settings": {"level": "3", "color": "blue"}}
expected = Expected(
    "succeeded",
    succeeded="shows",
    outputs={"shows": {"result": "3 me blue 3"}},
)
