"""English for the build of a training environment: its steps, and the space that it needs, by code."""

SENTENCES = {
    "gpu_check.in_pods": "Jobs run in pods here: what the default image computes, a job on the node's GPUs shows.",
    "gpu_check.no_environment": "The training environment is not ready, so that nothing can compute on the GPUs.",
    "gpu_check.failed": "A GPU does not compute what the CPU does: {problem:why}",
    "environment.no_space.needed": "{needed:bytes} are needed where {path} lies, and {free:bytes} are free.",
}

HINTS = {
    "gpu_check.in_pods": (
        "Submit a job on all units of the node; what verify saw of its GPUs stands at the end of site.yml."
    ),
    "gpu_check.no_environment": (
        "Wait until it is built, or run the repair that restores the default training environment."
    ),
    "gpu_check.failed": "Look at dmesg for Xid lines. Then drain the node, and run the repair that resets its GPUs.",
}

TITLES = {"gpu_check": "Multiplying on the GPUs"}

WORDS = {
    "step.wait": "Wait for another build on this machine",
    "step.check_tools": "Check tools and disk space",
    "step.download": "Download packages",
    "step.install": "Install packages",
    "step.compile_horovod": "Compile Horovod",
    "step.verify": "Try it as a job would",
    "step.contents": "Write the table of contents",
}
