"""Interactive jobs: the program that waits for a shell, installed beside the shim as `groundcrew_shell`."""
