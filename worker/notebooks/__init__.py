"""The programs that run inside a notebook, installed beside the shim as `groundcrew_notebooks`."""
