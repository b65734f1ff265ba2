# Beside the shim it is imported by its bare name.
from worker.inside.shim_plan import *
