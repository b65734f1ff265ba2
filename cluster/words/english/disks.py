"""English for full disks and deleted files, by code."""

SENTENCES = {
    "disk.short": (
        "The disk {mount} has {free:bytes} free, of which {reserve:bytes} are kept for the database: nothing large is "
        "taken in now."
    ),
    "disk.database_full": (
        "The disk {mount} is full, {free:bytes} are free, and the database cannot write. Nothing was changed."
    ),
    "disk.database_full.unknown": "The disk of the database is full, and it cannot write. Nothing was changed.",
    "job.archive_too_large": "The folder holds more than {limit:number} files. Download its folders one by one.",
    "job.archive_too_deep": "The folder is more than {limit:number} folders deep. Download its folders one by one.",
    "job.files_of_living": "job-{id} has not ended. Its files can be deleted afterwards.",
    "job.files_deleted": "The files of job-{id} were deleted by {by} at {at:clock}.",
    "job.files_going": "The files of job-{id} are being deleted; {by} asked for that at {at:clock}.",
    "job.files_unwanted": "{by} asked for the deletion of its files.",
    "job.files_gone": "Its files were deleted, as {by} had asked.",
    "forbidden.job.delete_files": (
        "Only the job's user, the training's owner, the workspace's manager and administrators may delete the files "
        "of a job."
    ),
    "attention.disk_short": "The disk {mount} is short of room: {free:bytes} free, {reserve:bytes} are kept",
    "attention.disk_filled_by": "largest: {fillers:sizes}",
    "attention.disk_nothing_starts": "since {at:clock} no job starts",
}

HINTS = {
    "disk.short": (
        "Delete the files of ended jobs or datasets that nobody needs, or ask an administrator for more room."
    ),
    "disk.database_full": (
        "Try again in a moment: room is made for the database. If it stays so, delete files of ended jobs on that disk."
    ),
}

TITLES = {"disk": "Short of disk space"}

WORDS = {
    "action.job.files_unwanted": "Deletion of a job's files asked for",
}
