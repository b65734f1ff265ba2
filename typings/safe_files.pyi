# Beside the shim it is imported by its bare name.
from cluster.files.safe_files import *
