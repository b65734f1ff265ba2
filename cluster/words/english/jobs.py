"""English for requests for jobs, for the states of jobs and for their history, by code."""

SENTENCES = {
    "job.units_too_few": "A job needs at least {least:units}.",
    "job.units_over_quota": (
        "{units:units} are more than the workspace's quota of {quota}. Use {quota} or fewer."
    ),
    "job.units_over_node": "{units:units} are more than any node has. Use {most} or fewer.",
    "job.no_gpu_environment": (
        "The units here are GPUs, and the training environment {name} computes on CPUs only: the job would hold "
        "GPUs and train on the CPU. Ask an administrator for Kubernetes with the image for CUDA, or for an executor "
        "of Docker whose image has your program with its own libraries for GPUs."
    ),
    "job.no_gpu_environment.image": (
        "The units here are GPUs, and the image {image} computes on CPUs only: the job would hold GPUs and train "
        "on the CPU. Ask an administrator to add cuda to default_image_variants and to run site.yml."
    ),
    "job.gpus_by_image": (
        "The training environment of this installation computes on CPUs only. It is assumed that {program} comes with "
        "the image {image} and brings its own libraries for GPUs."
    ),
    "job.gpus_assumed": (
        "Nothing recorded says whether {name} computes on GPUs. It is assumed that it does: look at the first lines of "
        "the log."
    ),
    "job.plain_is_one_process": (
        "A plain program is one process: of {units:units} all but one would idle. Choose Horovod or "
        "torchrun, or ask for 1."
    ),
    "job.priority_range": "Use a priority of {least} to {most}; higher goes first in the workspace.",
    "job.time_limit_range": "Use {least:duration} to {most:duration}, or no limit.",
    "job.grace_range": "Use a grace time of {least:duration} to {most:duration}.",
    "job.retries_range": "Use {least} to {most} further tries.",
    "job.memory_too_little": "Use at least {least:bytes} of memory, or leave it empty for its units' share.",
    "job.memory_over_node": "No node has more than {most:bytes} of memory for jobs. Ask for at most that.",
    "job.memory_over_share": (
        "{units:units} come with at most {most:bytes} of memory here. Ask for less memory, or for more units."
    ),
    "job.command_missing": "Write what to run: a code file such as train.py, or a command.",
    "job.script_with_python": ("Write the file alone as the script: {script}. Python is started for it."),
    "job.script_with_arguments": (
        "Write {script} alone as the script; {arguments} belongs to the arguments."
    ),
    "job.script_not_there": "{script} is not in version {version} of the code, which has {scripts:list}.",
    "job.script_not_there.near": ("{script} is not in version {version} of the code. Did you mean {near}?"),
    "job.script_not_there.none": (
        "{script} is not in version {version} of the code, which has no Python file. Upload one."
    ),
    "job.script_without_command": (
        "{script} is no Python file. Write the command that runs it, such as bash, as the script, and {script} as "
        "its argument."
    ),
    "job.torch_missing": (
        "The environment {environment} has no torch, so that torchrun starts only if the code brings it along."
    ),
    "job.command_of_built_in": "A built-in training has no command; set its variables instead.",
    "job.too_many_arguments": (
        "{count} arguments are too many: at most {most} are possible. Put them into a file."
    ),
    "job.command_too_long": "The command is longer than {most:bytes}. Put long values into a file.",
    "job.bad_argument": (
        "Argument {position} has the control character {codepoint}, which cannot be typed. Remove it."
    ),
    "job.argument_not_text": "Argument {position} is not valid text (UTF-8). Type it again.",
    "job.quote_open": "A quotation mark is not closed. Add the missing one.",
    "job.relative_path": (
        "“{argument}” is a relative path: it is looked up in the job's copy of the code. For a dataset use "
        "$GROUNDCREW_DATASET, for results $GROUNDCREW_OUT."
    ),
    "job.dataset_needed": "Choose a dataset: {model} learns from one.",
    "job.dataset_unknown": "Workspace {workspace} has no such dataset. Choose one of its own.",
    "job.dataset_failed": "Dataset {name} could not be prepared. Choose another one, or look at its page.",
    "job.variables_without_model": "{name} runs own code, which has no variables. Write them as arguments.",
    "job.has_ended": "job-{id} has ended already.",
    "job.unknown_state": "“{state}” is no state of a job. Use {states:list}.",
    "job.ended": "The job has ended already.",
    "job.not_now": "This is not possible in the present state: {state:word state.job}.",
    "job.submitted": "Submitted.",
    "job.placed": "Got {units:units} on {node}.",
    "job.placed.nodes": "Got {units:units} on {nodes:list}.",
    "job.started": "Started on {node}.",
    "job.resumed": "Goes on from epoch {epoch:number} of attempt {from_attempt}.",
    "job.adopted": "Found running after a restart of the services; it had gone on meanwhile.",
    "job.stop_requested": "{by} asked to stop it.",
    "job.held": "{by} held it: it does not start until it is let go.",
    "job.held_by_restore": (
        "Held: it waited when {name} was made at {at:clock}, from which the database was put back, "
        "and may have run since."
    ),
    "job.released": "{by} let it go; it waits again where it stood.",
    "job.moved": "{by} moved it to the end of its line.",
    "job.moved.before": "{by} moved it: it stands before job-{before} now.",
    "job.waits_no_more": "job-{id} does not wait any more: {state:word state.job}.",
    "job.user_number_outside": (
        "The job would run as user number {number}. Jobs run as users {first} to {last}, and as no other."
    ),
    "job.workspace_number_outside": (
        "The job would run in group number {number}. Jobs run in groups {first} to {last}, and in no other."
    ),
    "job.not_in_line": "No such job waits in workspace {name}. Choose one of its line.",
    "job.stop_not_allowed": (
        "Only {user}, the training's owner, the workspace's manager and administrators may stop this job."
    ),
    "job.continues": "Begins with the checkpoint of job-{job} at epoch {epoch:number}.",
    "job.not_continuable": (
        "job-{id} cannot be continued in its state: {state:word state.job}. Only stopped and failed jobs can."
    ),
    "job.no_checkpoint": ("job-{id} has left no complete checkpoint. A duplicate starts from the beginning."),
    "job.files_of_continued": (
        "job-{by} continues job-{id} and needs its checkpoint. Delete the files once job-{by} has ended."
    ),
}

FOREIGN_ID = "Its id is none that this installation has given out: check who has written into the database."

HINTS = {
    "job.user_number_outside": FOREIGN_ID,
    "job.workspace_number_outside": FOREIGN_ID,
}

TITLES = {
    "job": "The job cannot be run like this",
    "job.has_ended": "The job has ended",
    "job.waits_no_more": "The job does not wait any more",
}

WORDS = {
    "state.job.waiting": "Waiting",
    "state.job.starting": "Starting",
    "state.job.running": "Running",
    "state.job.stopping": "Stopping",
    "state.job.finished": "Finished",
    "state.job.failed": "Failed",
    "state.job.stopped": "Stopped",
    "state.hold.held": "Held",
    "state.attempt.placed": "Placed",
    "state.attempt.starting": "Starting",
    "state.attempt.running": "Running",
    "state.attempt.ended": "Ended",
    "desired.run": "Run",
    "desired.stop": "Stop",
}
