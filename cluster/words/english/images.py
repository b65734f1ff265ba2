"""English for the default images: the purposes of their parts, their variants, and their build."""

SENTENCES = {
    "check.images_stand.not": "A node could not pull {names:list} whole from the registry",
    "check.images_stand.problem": "Nobody knows what the registry has: {problem}",
    "check.images_stand.ok": "Every default image stands whole in the registry",
    "registry.failed": "The registry {registry} did not do what it was asked for: {line}",
    "registry.no_archive": "There is no archive of the default image {variant} in {path}.",
    "registry.archive_damaged": "The archive {path} of a default image is damaged.",
    "environment.place_of_another": "Somebody besides root could change {path}: root builds no image below it.",
    "environment.needs_root": "An image's system belongs to root, so that only root can build it.",
}

HINTS = {
    "registry.failed": "Look at groundcrew-registry.service and nginx on the master, then try again.",
    "registry.no_archive": "Run site.yml again: it builds the image, or say where the bundle is that has it.",
    "registry.archive_damaged": "Delete it and run site.yml again: it is built anew. One of a bundle: copy it there.",
    "environment.place_of_another": "Run site.yml again: it gives images a place whose whole path is root's.",
    "environment.needs_root": "Build it as root, or take it from a bundle.",
}

TITLES = {
    "registry": "The registry",
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
