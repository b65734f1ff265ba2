# Beside the shim it is imported by its bare name.
from worker.inside.shim_log_times import *
