"""English for the build of a training environment: its steps, and the space that it needs, by code."""

SENTENCES = {
    "environment.no_space.needed": "{needed:bytes} are needed where {path} lies, and {free:bytes} are free.",
}

WORDS = {
    "step.wait": "Wait for another build on this machine",
    "step.check_tools": "Check tools and disk space",
    "step.download": "Download packages",
    "step.install": "Install packages",
    "step.compile_horovod": "Compile Horovod",
    "step.verify": "Try it as a job would",
    "step.contents": "Write the table of contents",
}
