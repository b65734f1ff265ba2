"""English for nodes and units, by code."""

SENTENCES = {
    "node.reason_missing": "Say why: whoever finds the node closed later wants to know.",
    "node.jobs_still_run": "{node} is closed, and jobs {jobs} still run there.",
    "node.not_draining": "{node} is not being drained.",
}

HINTS = {
    "node.jobs_still_run": "Stop these jobs or wait for their end, then run the same command again.",
}

TITLES = {
    "node": "The node cannot be changed like this",
}

WORDS = {
    "state.node.ready": "Ready",
    "state.node.draining": "Draining",
    "state.node.unreachable": "Unreachable",
    "state.node.lost": "Lost",
    "state.node.no_executor": "No executor",
    "state.unit.ok": "Working",
    "state.unit.broken": "Broken",
    "state.unit.gone": "Gone",
    "kind.unit.gpu": "GPU",
    "kind.unit.cpu_slot": "CPU slot",
}
