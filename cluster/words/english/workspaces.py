"""English for workspaces, their terms and units, by code."""

SENTENCES = {
    "term.ends_before_start": "The last day is before the first one, {starts_on:day}. Choose a later day.",
    "term.in_the_past": "The last day has passed; today is {today:day}. Choose today or later.",
    "term.too_long": "A term has at most {most} days. Choose an earlier last day.",
    "workspace.units_negative": "The number of {kind:unit_word} cannot be below 0.",
    "workspace.units_over_capacity": (
        "{units:units} are too many: the cluster has {capacity}, and other workspaces hold {held} of them "
        "on {worst_day:day}. Left: {left:units}."
    ),
    "workspace.not_started": (
        "Workspace {workspace} starts on {starts_on:day}. Until then nothing can be made or run in it."
    ),
    "workspace.expired": (
        "Workspace {workspace} ended on {ended_on:day}. Everything in it stays readable; ask an "
        "administrator to extend it."
    ),
    "workspace.name_taken": "There is already a workspace “{name}”. Choose another name.",
    "workspace.not_longer": "The last day is {ends_on:day} already. Choose a later one.",
    "workspace.units_below_use": (
        "{in_use:units} are in use, more than the quota of {units}. What runs goes on; nothing new starts "
        "until enough of it has ended."
    ),
    "workspace.unknown": "There is no such workspace. Choose from the list.",
    "workspace.changed": "Somebody changed the workspace meanwhile. Look at what changed, then save.",
    "workspace.no_folder_yet": "The files of workspace {workspace} have no folder yet: the scheduler makes it.",
    "storage.over_limit": (
        "Workspace {workspace} stores {used:bytes} of the {limit:bytes} that it may: nothing is added and no job "
        "starts there."
    ),
    "storage.no_room": (
        "This takes {needed:bytes}, but workspace {workspace} stores {used:bytes} of the {limit:bytes} that it may."
    ),
    "storage.unpacked_no_room": (
        "Unpacked, the archive takes more than workspace {workspace} may still store: {used:bytes} of {limit:bytes} "
        "are used."
    ),
    "storage.limit_out_of_range": "The limit is between {least:bytes} and {most:bytes}, or empty for none.",
    "storage.limit_unreadable": "“{text}” is no size. Write it as 500 GiB or 2 TiB.",
    "workspace.ended": "Workspace {workspace} has ended already.",
}

HINTS = {
    "storage.over_limit": (
        "Delete datasets, environments or files of ended jobs that nobody needs, or ask an administrator for a higher "
        "limit."
    ),
    "storage.no_room": (
        "Delete datasets, environments or files of ended jobs that nobody needs, or ask an administrator for a higher "
        "limit."
    ),
    "storage.unpacked_no_room": (
        "Delete datasets, environments or files of ended jobs that nobody needs, or ask an administrator for a higher "
        "limit."
    ),
    "workspace.no_folder_yet": (
        "Try again in a moment. If it stays so, look whether the scheduler runs, and at its log."
    ),
}

TITLES = {
    "term": "This term is not possible",
    "storage": "The workspace's storage is limited",
    "workspace": "The workspace does not allow this",
}

WORDS = {
    "state.workspace.scheduled": "Scheduled",
    "state.workspace.active": "Active",
    "state.workspace.expired": "Expired",
}
