"""English for known lines with which programs fail, by code (cluster/domain/jobs/failures/failure_symptoms.py)."""

SENTENCES = {
    "failure.gpu_memory_full": "The GPU's memory was full.",
    "failure.shared_memory_full": "The shared memory (/dev/shm) was full, which data loaders use.",
    "failure.memory_full": "The program did not get the memory that it asked for.",
    "failure.disk_full": "The disk was full.",
    "failure.disk_read_only": "The program wrote to a file system that is read-only.",
    "failure.ranks_apart": "The ranks lost the connection to each other.",
    "failure.gpu_assert": "A check on the GPU failed; mostly a label or an index is out of its range.",
    "failure.no_gpu": "The program looks for a GPU and has none.",
    "failure.gpu_too_new": "A library was not built for this kind of GPU.",
    "failure.module_missing": "The Python module {module} is not installed.",
    "failure.module_missing.unknown": "A Python module is not installed.",
    "failure.library_missing": "A shared library that the program needs is not installed.",
    "failure.name_missing": "A module has another version than the code expects.",
    "failure.arguments": "The program did not understand its arguments.",
    "failure.syntax": "The code has a syntax error.",
    "failure.not_finite": "A value became NaN or infinite.",
    "failure.shapes": "Two tensors do not fit each other, or a checkpoint does not fit the model.",
    "failure.port_taken": "Another process uses the network port already.",
    "failure.no_network": "The program did not reach an address on the network.",
    "failure.file_missing": "There is no file or folder {path}.",
    "failure.file_missing.unknown": "A file or a folder does not exist.",
    "failure.not_permitted": "The program may not use {path}.",
    "failure.not_permitted.unknown": "The program may not use a file or a folder.",
}

HINTS = {
    "failure.gpu_memory_full": "Use a smaller batch size, mixed precision or gradient accumulation.",
    "failure.shared_memory_full": "Use fewer workers of the data loader (num_workers), or 0.",
    "failure.memory_full": (
        "Use a smaller batch size, fewer workers (num_workers), or ask for more memory or more units."
    ),
    "failure.disk_full": (
        "Keep only the last checkpoints and write less. An administrator can make room on the disk."
    ),
    "failure.disk_read_only": "Write to $GROUNDCREW_OUT or to /tmp. If the path is there, tell an administrator.",
    "failure.ranks_apart": (
        "Look for the rank that failed or became silent first: the others only notice that it is gone. If no rank "
        "failed, tell an administrator which nodes the job was on."
    ),
    "failure.gpu_assert": "Run it once with CUDA_LAUNCH_BLOCKING=1: then the traceback names the right line.",
    "failure.no_gpu": (
        'If the job ran on CPU slots, use torch.device("cpu"). If it ran on GPUs, the environment has a library '
        "for CPUs only: tell an administrator."
    ),
    "failure.gpu_too_new": "Tell an administrator: the environment needs a newer version of the library.",
    "failure.module_missing": (
        "The Images page lists what is installed. Add a module of your own to the code, or ask an administrator to "
        "install it."
    ),
    "failure.library_missing": "Ask an administrator to install it in the environment.",
    "failure.name_missing": "Compare the versions on the Images page with those that the code was written for.",
    "failure.arguments": "Compare the arguments with what the program's --help says.",
    "failure.syntax": "Upload the corrected file as a new version of the code.",
    "failure.not_finite": "Use a smaller learning rate, clip the gradients, and look for wrong values in the data.",
    "failure.shapes": "Compare the shapes in the last lines; for a checkpoint, the settings of the job that wrote it.",
    "failure.port_taken": "Let the program choose a free port (port 0), or use the one of torchrun or Horovod.",
    "failure.no_network": (
        "Nodes may have no way to the Internet. Put what the program downloads into a dataset or into the code."
    ),
    "failure.file_missing": (
        "Paths are looked up in the folder of the code. The dataset is at $GROUNDCREW_DATASET, results go to "
        "$GROUNDCREW_OUT."
    ),
    "failure.not_permitted": "A program may write to $GROUNDCREW_OUT and to /tmp; code and dataset are read-only.",
}

TITLES = {
    "failure": "Why it failed",
}
