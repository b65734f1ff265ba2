"""English for trainings, their code, and the variables of built-in models, by code."""

SENTENCES = {
    "model.unknown": "“{name}” is no built-in model. Choose one of {models:list}.",
    "code.missing": "Choose a code file.",
    "code.too_many_files": "{count:files} are too many at once. Upload an archive or fewer files.",
    "code.too_large": "The code has {bytes:bytes}; at most {limit:bytes} are taken. Put data into a dataset.",
    "code.built_in_has_none": "{name} is a built-in training: its code comes with Groundcrew.",
    "code.twice": "“{name}” is there twice. Rename one of them.",
    "variable.missing": "Fill this in; the usual value is {default}.",
    "variable.unknown": "{model} has no variable “{name}”. It has {known:list}.",
    "variable.not_a_choice": "“{given}” is no choice. Choose one of {choices:list}.",
    "variable.not_a_number": "“{given}” is no number. Write one such as {default}.",
    "variable.not_whole": "“{given}” is no whole number. Use {minimum:bounds}.",
    "variable.not_finite": "“{given}” is no finite number. Use {minimum:bounds}.",
    "variable.too_small": "{given} is too small. Use {minimum:bounds}.",
    "variable.too_large": "{given} is too large. Use {minimum:bounds}.",
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
    "visibility.public": "Whole workspace",
    "visibility.private": "Named members",
    "launcher.horovod": "Horovod",
    "launcher.torchrun": "torchrun",
    "launcher.plain": "Plain program",
}
