"""English for operations, their steps, and what went wrong in them, by code."""

SENTENCES = {
    "operation.stale": "Somebody else has taken this operation over.",
    "operation.not_ended_badly": "Only an operation that failed or was interrupted can be tried again.",
    "operation.dropped": "Begun {times:times} and dropped each time: whoever worked on it disappeared.",
    "operation.broken": "It stopped at an error that nobody foresaw: {error}.",
    "environment.no_space": "The disk is full.",
    "environment.no_network": "The package server does not answer.",
    "environment.no_memory": "The compiler ran out of memory.",
    "environment.package_refused": "A package was not what it should be, and was not used.",
    "environment.step_failed": "A step of the building failed.",
}

HINTS = {
    "operation.dropped": "Look at the task worker's log, then try again.",
    "operation.broken": "The task worker's log has the details. Try again; if it stays so, report it.",
    "environment.no_space": "Make room, then try the operation again.",
    "environment.no_network": "Connect the machine to its network or mirror, then try the operation again.",
    "environment.no_memory": "End other programs on the machine, then try the operation again.",
    "environment.package_refused": (
        "Its checksum differs from the pinned one: the mirror may be broken. See the operation's log."
    ),
    "environment.step_failed": "The operation's log ends with the reason.",
}

TITLES = {
    "operation": "The operation did not end well",
    "environment": "The training environment was not built",
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
    "state.step.now": "Now",
    "state.step.done": "Done",
    "state.step.failed": "Failed",
    "state.environment.missing": "Missing",
    "state.environment.building": "Being built",
    "state.environment.ready": "Ready",
    "state.environment.failed": "Failed",
    "queue.general": "General",
    "queue.images": "Environments",
}
