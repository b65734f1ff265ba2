"""English for trainings, their code, and the variables of built-in models, by code."""

SENTENCES = {
    "model.unknown": "“{name}” is no built-in model. Choose one of {models:list}.",
    "code.missing": "Choose a code file.",
    "code.too_many_files": "{count:files} are too many at once. Upload an archive or fewer files.",
    "code.too_large": "The code has {bytes:bytes}; at most {limit:bytes} are taken. Put data into a dataset.",
    "code.built_in_has_none": "{name} is a built-in training: its code comes with Groundcrew.",
    "code.twice": "“{name}” is there twice. Rename one of them.",
    "variable.missing": "Required; the usual value is {default}.",
    "variable.unknown": "{model} has no variable “{name}”. It has {known:list}.",
    "variable.not_a_choice": "“{given}” is no choice. Choose one of {choices:list}.",
    "variable.not_a_number": "“{given}” is not a number. Write one such as {default}.",
    "variable.not_whole": "“{given}” is no whole number. Use {minimum:bounds}.",
    "variable.not_finite": "“{given}” is no finite number. Use {minimum:bounds}.",
    "variable.too_small": "{given} is too small. Use {minimum:bounds}.",
    "variable.too_large": "{given} is too large. Use {minimum:bounds}.",
    "code.archive_alone": ("“{name}” is an archive among other files. Upload it alone, or unpack it first."),
    "code.no_archive": "“{name}” is no archive. Send a zip or tar archive here.",
    "code.archive_gone": "“{name}” is not kept any more. Upload it again.",
    "code.being_prepared": "Version {version} is still being unpacked. Upload again once it is ready.",
    "code.changed_since": ("Somebody has uploaded version {newest} meanwhile. Look at it and upload again."),
    "code.file_and_folder": "“{name}” is a file and a folder at once. Rename or remove one of them.",
    "code.no_script": "There is no Python script (.py) among the files. A training needs at least one.",
    "code.no_such_version": (
        "{name} has no version {version} of its code that is ready. Choose another one."
    ),
    "code.none_ready": "{name} has no code yet that could run. Upload it, or wait until it is unpacked.",
    "code.not_there": "“{name}” is not in this version. Choose files that it has.",
    "code.nothing_chosen": "Choose the files that the next version leaves out.",
    "code.superseded": "A later version has taken its place.",
    "code.too_deep": "“{file}” lies more than {most} folders deep. Use fewer folders.",
    "training.archived": "{name} is archived. Take it out of the archive to use it again.",
    "training.in_use": (
        "{name} has {jobs:jobs} that have not ended. Stop them first, or wait until they have ended."
    ),
    "code.not_base64": "The content of “{file}” is not Base64. Encode it and send it again.",
    "code.too_large_to_edit": (
        "Only files of at most {limit:bytes} are edited in the browser. Change it on your computer and upload it."
    ),
    "code.not_editable": (
        "“{file}” is no plain UTF-8 text with one kind of line end, so that an editor could change it "
        "unasked. Change it on your computer and upload it."
    ),
    "code.not_utf8": ("The text has characters that UTF-8 cannot write. Remove them and save again."),
    "code.nothing_changed": ("This is what version {version} says. Change something, then save."),
    "code.file_changed_since": (
        "“{file}” was changed in version {newest} since you began with version {base}. Look at it and save again."
    ),
}

TITLES = {
    "model": "No such model",
    "code": "The code was not taken",
    "training": "The training does not allow this",
    "variable": "This value cannot be used",
}

WORDS = {
    "kind.training.built_in": "Built-in",
    "kind.training.advanced": "Own code",
    "kind.training.notebook": "Notebook",
    "visibility.public": "Whole workspace",
    "visibility.private": "Named members",
    "launcher.horovod": "Horovod",
    "launcher.torchrun": "torchrun",
    "launcher.plain": "Plain program",
}
