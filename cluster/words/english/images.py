"""English for the default images: what their parts are for, which variants there are, how they are built."""

SENTENCES = {
    "environment.needs_root": "An image's system belongs to root, so that only root can build it.",
}

HINTS = {
    "environment.needs_root": "Build it as root, or take it from a bundle.",
}

WORDS = {
    "variant.cpu": "Computes on CPUs",
    "variant.cuda": "Computes with CUDA",
    "step.system": "Unpack the distribution",
    "step.pack": "Pack the image",
    "purpose.fast_network": "InfiniBand and RoCE",
    "purpose.gpu_layers": "Fast layers in CUDA",
    "purpose.gpu_programs": "Programs in CUDA",
    "purpose.gpu_ranks": "Sums between ranks in CUDA",
    "purpose.launch_ranks": "Starts ranks on several machines",
    "purpose.notebooks": "Notebooks in the browser",
    "purpose.reach_ranks": "By which ranks are reached",
}
