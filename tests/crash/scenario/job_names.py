"""The names of a scenario's jobs decide how their programs behave."""

from worker.executors.simulated import Behaviour

CAST = {
    "short": Behaviour(seconds=3),
    "long": Behaviour(seconds=100, ignores_stop=True),
    "other": Behaviour(seconds=4),
    "waits": Behaviour(seconds=3),
    "unwanted": Behaviour(seconds=3),
    "fails": Behaviour(seconds=2, exit_code=3),
    "loses": Behaviour(seconds=5, loses_shim_after=2),
    "too-late": Behaviour(seconds=3),
    "steady": Behaviour(seconds=110),
    "grid": Behaviour(seconds=2),
}
"""How the program of the job with this name behaves; a sweep's jobs begin with its name."""
