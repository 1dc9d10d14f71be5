"""Parameters whose values are entries of config maps, defaults for want of them, and given ones."""

from couler.ir.storage import ConfigKey
from couler.ir.workflow import Parameter
from tests.corpus.build import Expected, flow, item, out, param, ref, rng, sh

config_maps = {"site": {"region": "north 'sea'", "size": "3", "names": '["a","b"]', "no": "x"}}
parameters = {"given": "mine"}


def entry(name: str, key: str, **fields: object) -> Parameter:
    return Parameter(name=name, config=ConfigKey(config_map="site", key=key), **fields)


workflow = flow(
    "parameters-from-config",
    sh("show", 'echo "$1/$2/$3/$4"', *map(param, ("region", "given", "absent", "size"))),
    sh("each", 'echo "$1"', item(), foreach=param("names")),
    sh("count", 'echo "$1"', item(), foreach=rng(1, end=param("size"))),
    sh("all", 'echo "$1$2"', ref("each"), ref("count")),
    parameters=[
        entry("region", "region"),
        entry("given", "no"),
        entry("absent", "absent", default="none"),
        entry("size", "size", type="int", default=1),
        entry("names", "names", type="list"),
    ],
    outputs=[out("size", "int", source=param("size")), out("all", source=ref("all"))],
)
expected = Expected(
    "succeeded",
    succeeded="show each each[0] each[1] count count[0] count[1] count[2] all",
    outputs={"show": {"result": "north 'sea'/mine/none/3"}},
    run_outputs={"size": 3, "all": '["a","b"]["1","2","3"]'},
)
