"""English for nodes and units, by code."""

SENTENCES = {
    "node.reason_missing": "Say why: whoever finds the node closed later wants to know.",
    "node.jobs_still_run": "{node} is closed, and jobs {jobs} still run there.",
    "node.forget_master": "{node} is the master, which cannot be forgotten.",
    "node.forget_jobs_run": "{node} cannot be forgotten: units there are held by {jobs}.",
    "node.forget_answers": "{node} cannot be forgotten: it is open and its agent answers.",
    "node.not_draining": "{node} is not being drained.",
    "confinement.whole": (
        "Everything is enforced: a job has limits of memory and processes, its own devices and its own /tmp. "
        "It writes only its own folder, sees no other user's processes and reaches no metadata address. "
        "A stopped job leaves no process."
    ),
    "confinement.unknown": "It could not be found out what confines jobs here: {why}",
    "confinement.without_root": (
        "Groundcrew does not run as root here. Jobs run as its own user: they may read and write what that user "
        "may, share /tmp, and have no limits of their own."
    ),
    "confinement.no_stop": (
        "Processes of a stopped job are searched for until two looks agree that none is left. "
        "A program that starts new ones quickly enough could go on unseen."
    ),
    "confinement.no_memory": (
        "A job's memory is not limited: a program that takes too much can end the node's services."
    ),
    "confinement.no_processes": "The number of a job's processes is not limited.",
    "confinement.no_devices": "A job's program may open every device of this node, also those of others.",
    "confinement.no_tmp": (
        "Jobs share /tmp, /var/tmp and /dev/shm with everything else on this node ({why})."
    ),
    "confinement.no_system": "A job may write wherever the modes of this node's files allow it ({why}).",
    "confinement.no_processes_hidden": (
        "A job's program sees the command lines of all processes of this node ({why})."
    ),
    "confinement.no_storage_hidden": (
        "A job's program is kept out of this installation's other folders by their modes alone ({why})."
    ),
    "confinement.no_metadata_address": (
        "A job's program reaches 169.254.169.254, where a cloud hands out this machine's credentials ({why})."
    ),
}

NEEDS_CGROUPS = (
    "Root has to write cgroups (memory, pids, devices, freezer); a container needs to be privileged."
)
NEEDS_MOUNTS = "Root needs CAP_SYS_ADMIN to mount; a container needs to be privileged."

HINTS = {
    "node.forget_master": "Another machine becomes the master with its backup; see the howto of backups.",
    "node.forget_jobs_run": (
        "Stop them or wait for their end. Those of a dead node are taken from it once the node is lost."
    ),
    "node.forget_answers": "Drain it first, or stop its agent.",
    "node.jobs_still_run": "Stop these jobs or wait for their end, then run the same command again.",
    "confinement.unknown": "Look into the scheduler's log; it is asked again every 15 minutes.",
    "confinement.without_root": (
        "Run make up as root, or let containers confine jobs: GROUNDCREW_EXECUTOR=docker."
    ),
    "confinement.no_stop": NEEDS_CGROUPS,
    "confinement.no_memory": NEEDS_CGROUPS,
    "confinement.no_processes": NEEDS_CGROUPS,
    "confinement.no_devices": NEEDS_CGROUPS,
    "confinement.no_tmp": NEEDS_MOUNTS,
    "confinement.no_system": NEEDS_MOUNTS,
    "confinement.no_processes_hidden": "It takes Linux 5.8 or newer, and CAP_SYS_ADMIN for root.",
    "confinement.no_storage_hidden": NEEDS_MOUNTS,
    "confinement.no_metadata_address": (
        "Root needs CAP_NET_ADMIN for a rule of the routing; otherwise close it on the network."
    ),
}

TITLES = {
    "node": "The node cannot be changed like this",
    "confinement": "How jobs are confined",
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
    "state.square.work": "at work",
    "state.square.free": "free",
    "state.square.idle": "held, idle",
    "state.square.unreachable": "unreachable",
    "state.square.closed": "closed",
    "state.square.broken": "broken",
    "kind.unit.gpu": "GPU",
    "kind.unit.cpu_slot": "CPU slot",
}
