"""English for notebooks, by code."""

SENTENCES = {
    "notebook.no_editor": "JupyterLab is not installed on this machine yet. It is being installed, or could not be.",
    "notebook.being_started": "Your notebook of this training is being started already. Open the page again.",
    "notebook.of_built_in": "{name} runs a built-in model and has no code to edit. Open a training with own code.",
    "notebook.no_files": "You have no files of {name} yet. Open a notebook of it first.",
    "notebook.not_rerun": (
        "{id:job} is a notebook, which is not submitted again. Start it on the notebook page of its training."
    ),
    "notebook.no_packages": (
        "Nothing was installed by pip in your notebooks of {name}. Write %pip install and a package's name in a cell "
        "first."
    ),
    "notebook.base_gone": (
        "The environment {name}, in which your notebook ran, is not ready any more. Open a notebook in another one "
        "first."
    ),
    "notebook.not_ready": "The notebook of {id:job} does not run. Start it again on the page of its training.",
    "notebook.newer_version": (
        "Version {newest} was made since these files began from version {base}. Compare them, or save all the same."
    ),
    "notebook.unreadable": (
        "The portal may not read {file}. Allow your group to read it (chmod g+r), or delete it, and save again."
    ),
    "not_found.notebook": "This notebook does not exist, or it is not yours.",
    "notebook.ready": "JupyterLab answers.",
    "notebook.idle_announced": "Nobody uses it: it is stopped at {stops_at:clock} unless it is used until then.",
    "notebook.idle_stop": "Stopped because nobody has used it since {since:clock}.",
    "start.no_editor": "JupyterLab is not installed on this machine yet.",
    "notification.notebook_idle": (
        "The notebook of {training} ({job:job}) is stopped at {stops_at:clock} unless it is used until then"
    ),
}

HINTS = {
    "notebook.no_editor": "The page Operations shows its installation, with the reason if it failed.",
}

TITLES = {"notebook": "Notebook"}

WORDS = {
    "action.notebook.started": "Notebook started",
    "action.notebook.opened": "Notebook opened",
    "operation.editor.build": "Install JupyterLab",
    "code_source.notebook": "saved from a notebook",
    "notification.kind.notebook_idle": "A notebook of mine is idle and will be stopped",
}
