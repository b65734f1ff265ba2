"""English for operations, their steps, and their failures, by code."""

SENTENCES = {
    "ansible.missing": "{path} has no ansible-playbook that answers.",
    "ansible.too_old": "{path} is ansible-core {found}; {needed} or newer is needed.",
    "operation.stale": "Somebody else has taken this operation over.",
    "operation.not_ended_badly": "Only an operation that failed or was interrupted can be tried again.",
    "operation.dropped": "Begun {times:times} and dropped each time: whoever worked on it disappeared.",
    "operation.restored": "It was open when the backup was made from which the database was put back.",
    "operation.subject_deleted": "The dataset was deleted since, so that there is nothing to try again.",
    "operation.same_refusal": "Another try would refuse the same archive again: upload a corrected one.",
    "operation.broken": "Unexpected error: {error}.",
    "environment.no_space": "The disk is full: {free:bytes} are free on {path}.",
    "environment.no_space.unknown": "The disk is full.",
    "environment.no_network": "The package server does not answer.",
    "environment.no_memory": "The compiler ran out of memory.",
    "environment.package_refused": "A package was not what it should be, and was not used.",
    "environment.step_failed": "{command} ended with exit code {exit_code}: {line}",
    "environment.tools_missing": "These packages of the system are missing: {packages:list}.",
    "environment.python_unsupported": (
        "This machine has Python {version}; the environment can be built for {supported:list}."
    ),
    "environment.not_working": "Everything was installed, and yet it does not work: {line}",
    "kubernetes.refused": "The API server of Kubernetes refuses what Groundcrew asks: {said}",
    "kubernetes.silent": "The API server of Kubernetes, as {kubeconfig} names it, does not answer.",
    "engine.silent": "The container engine behind {socket} does not answer.",
    "start.failed": "The node could not start it: {reason}.",
    "start.disk_full": "The disk was full when it was to start: {reason}.",
    "start.too_slow": "The node did not start it within {seconds:duration}.",
    "start.no_default_image": "The site has no default image yet: site.yml builds it and puts it into the registry.",
    "start.namespace_of_another": (
        "The namespace {namespace} belongs to another installation of Groundcrew on the cluster."
    ),
    "start.no_gpu_environment": (
        "Its units are GPUs, and {name} computes on CPUs only: it was not begun, for it would have trained on the CPU."
    ),
    "start.no_image": "The image {image} is not on the node.",
    "start.forestalled": "It was stopped before it could start.",
    "start.checkpoint_gone": "Checkpoint {file} of job-{job}, with which it was to begin, is gone.",
}

HINTS = {
    "ansible.missing": "Type make ansible, and set GROUNDCREW_ANSIBLE_PROGRAMS to the folder that it prints.",
    "ansible.too_old": "Type make ansible, and set GROUNDCREW_ANSIBLE_PROGRAMS to the folder that it prints.",
    "operation.dropped": "Look at the task worker's log, then try again.",
    "operation.restored": "Try it again where it is still wanted: it may have been done since.",
    "operation.broken": "The task worker's log has the details. Try again; if it stays so, report it.",
    "environment.no_space": "Make room, then try the operation again.",
    "environment.no_network": "Connect the machine to its network or mirror, then try the operation again.",
    "environment.no_memory": "End other programs on the machine, then try the operation again.",
    "environment.package_refused": (
        "Its checksum differs from the pinned one: the mirror may be broken. See the operation's log."
    ),
    "environment.step_failed": "The operation's log ends with the reason.",
    "environment.tools_missing": (
        "Install them with apt-get, then try the operation again; make up does both."
    ),
    "environment.python_unsupported": "Use Debian 12 or Ubuntu 24.04 with its own Python.",
    "environment.not_working": (
        "The operation's log has the details. Try again; if it stays so, the processor may be too old for "
        "TensorFlow."
    ),
}

TITLES = {
    "ansible": "No Ansible that fits",
    "operation": "The operation did not end well",
    "start": "Not started",
    "engine": "No answer",
    "kubernetes": "No answer",
    "environment": "The environment was not built",
}

WORDS = {
    "operation.environment.build": "Build the training environment",
    "operation.dataset.import": "Import a dataset",
    "operation.dataset.sample": "Write the sample digits",
    "operation.dataset.delete": "Delete a dataset's files",
    "state.operation.requested": "Requested",
    "state.operation.running": "Running",
    "state.operation.finished": "Finished",
    "state.operation.failed": "Failed",
    "state.operation.interrupted": "Interrupted",
    "state.step.to_come": "To come",
    "state.step.now": "In progress",
    "state.step.done": "Done",
    "state.step.failed": "Failed",
    "state.environment.unapproved": "Waits for approval",
    "state.environment.missing": "Missing",
    "state.environment.building": "Being built",
    "state.environment.ready": "Ready",
    "state.environment.failed": "Failed",
    "purpose.arrays": "Arrays of numbers",
    "purpose.classic_learning": "Classic machine learning, sample data",
    "purpose.curves": "Curves in TensorBoard's format",
    "purpose.framework": "Deep learning",
    "purpose.images": "Reading and writing images",
    "purpose.language": "Programming language",
    "purpose.layers": "Layers and models",
    "purpose.mathematics": "Scientific mathematics",
    "purpose.several_ranks": "Training on several ranks",
    "purpose.weights": "Files of weights",
    "queue.general": "General",
    "queue.images": "Environments",
    "step.unpack": "Unpack the archive",
    "step.look_through": "Look through the files",
    "step.write_digits": "Write the digits",
    "step.delete_files": "Delete the files",
    "operation.code.import": "Import code",
}
