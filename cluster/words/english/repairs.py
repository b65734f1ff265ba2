"""English for repairs, their checks, backups and what may be deleted, by code."""

SENTENCES = {
    "repair.reason_missing": "Write why: the audit log keeps it.",
    "repair.reason_too_long": "A reason has at most {most:number} characters.",
    "repair.other_name": "{typed} is not the name of this forecast. Type {name}.",
    "repair.host_unusable": "{name} is no name under which Ansible could reach a machine.",
    "repair.catalogue_broken": "The catalogue of repairs cannot be read: {file}: {what}.",
    "repair.forecast_changed": (
        "Something changed since this forecast was made. Nothing was done; this is the new one."
    ),
    "repair.under_way": "Repair {run} runs on {host}: {who} asked for it at {at:clock}. One at a time.",
    "repair.over": "This repair is over.",
    "repair.ask_again": "A repair that has ended is asked for again from its forecast.",
    "repair.no_ansible": "The Ansible environment could not be built: {line}",
    "repair.files_changed": (
        "The files of {name} are not the ones that the forecast showed. Nothing was done."
    ),
    "repair.locked": "Another run holds the lock of {host}. Nothing was done.",
    "repair.vanished": "The process of this run on {host} was killed; what it had left behind was ended.",
    "repair.not_verified": "It ran, and the verification says that {host} is not as it should be.",
    "repair.cancelled": "It was cancelled, and the verification says that {host} is not as it should be.",
    "backup.sqlite_only": "This release writes out SQLite databases only; use pg_dump for PostgreSQL.",
    "backup.zstd_failed": "zstd ended with exit code {exit_code}.",
    "backup.none": "There is no backup in {folder}.",
    "backup.no_room": "A backup needs {needed:bytes} on the disk, and {free:bytes} are free.",
    "backup.broken": "{name} cannot be restored: {problem}.",
    "backup.damaged": "These backups are no longer what was proved: {names:list}.",
    "check.backup_made.none": "no backup yet",
    "check.backup_made.old": "the newest backup is of {at:clock}",
    "check.backup_made.ok": "{name} holds {rows:rows}",
    "check.backup_restored.problem": "{name} cannot be restored: {problem}",
    "check.backup_restored.never": "{name} has not been restored",
    "check.backup_restored.ok": "{name} restored at {at:clock}, all {rows:rows} there",
    "check.services_running.not": "{names:list} do not run",
    "check.services_running.old": "{names:list} were not restarted",
    "check.services_running.ok": "{names:list} run",
    "check.no_stuck_operations.not": "{operations:operations} stuck",
    "check.no_stuck_operations.ok": "no operation is stuck",
    "check.no_leftovers.not": "{entries:files} of no use",
    "check.no_leftovers.ok": "nothing of no use is left",
    "check.disk_free.not": "{free:bytes} free, {share:percent}; {wanted:percent} are wanted",
    "check.disk_free.ok": "{free:bytes} free, {share:percent}",
    "check.portal_answers.not": "the portal does not answer",
    "check.portal_answers.ok": "the portal answers",
    "check.audit_whole.never": "not checked yet",
    "check.audit_whole.not": "checked at {at:clock}: it is not as it was sealed",
    "check.audit_whole.ok": "checked at {at:clock}: all {entries:entries} as they were sealed",
    "audit.seal_missing": "Seal {seal} of the access log is missing.",
    "audit.seal_broken": "Seal {seal} of the access log was changed.",
    "audit.other_key": "Seal {seal} of the access log was made with another key than GROUNDCREW_SECRET_KEY.",
    "audit.entry_missing": "Entry {entry} of the access log is missing.",
    "audit.entry_edited": (
        "Entry {entry} of the access log was changed after it was sealed; it now says {at:clock}."
    ),
    "audit.entry_added": "Entry {entry} of the access log was put between others that had been sealed.",
    "audit.cut": (
        "Seal {seal}, which {where} has written down, is not in the access log: its end was cut off, "
        "or an older database was put in place."
    ),
    "leftover.database_copy": "copy of the database from before an update",
    "leftover.log": "log of an operation, older than 90 days",
    "not_found.repair": "There is no such repair, or you may not see it.",
    "access_log.today": "Of today more is to come; it can be deleted tomorrow.",
}

HINTS = {
    "repair.no_ansible": "The log of this run ends with the reason. make ansible builds it by hand.",
    "repair.files_changed": "Open the forecast again and read what runs now.",
    "repair.locked": "Wait until it has ended, then open the forecast again.",
    "repair.vanished": "Open the forecast again: the repair may be run a second time.",
    "repair.not_verified": (
        "The red line of the verification says what is still the case; the first failure in the "
        "matrix says why."
    ),
    "repair.under_way": "Watch that one, then come back.",
    "repair.catalogue_broken": "Mend the file, or remove it.",
    "backup.broken": "The older ones that were proved are kept. Look at the disk, then back up again.",
    "backup.damaged": "Newer and other ones are good. Look at the disk that they lie on.",
    "backup.no_room": "Make room, then try again; the older backups are kept.",
    "audit.other_key": "Put the old key back, or begin a new log after keeping this one.",
    "audit.cut": "Keep the backup: it has the entries that are gone.",
}

TITLES = {
    "repair": "The repair",
    "backup": "The backup",
    "check": "Verification",
    "leftover": "Of no use any more",
    "audit": "Access log",
    "access_log": "Access log",
}

WORDS = {
    "audit.kind.session": "Signing in",
    "audit.kind.user": "Users",
    "audit.kind.token": "Tokens",
    "audit.kind.workspace": "Workspaces",
    "audit.kind.dataset": "Datasets",
    "audit.kind.training": "Trainings",
    "audit.kind.job": "Jobs",
    "audit.kind.sweep": "Sweeps",
    "audit.kind.node": "Nodes",
    "audit.kind.operation": "Operations",
    "audit.kind.repair": "Repairs",
    "audit.outcome.done": "Done",
    "audit.outcome.refused": "Refused",
    "audit.outcome.failed": "Failed",
    "operation.repair": "Repair",
    "operation.backup": "Back up the database",
    "step.backup_write": "Write the database out as SQL",
    "step.backup_prove": "Restore it into a scratch database and compare",
    "step.backup_look": "Look whether the older ones are what they were",
    "step.backup_tidy": "Let go of what is older than it need be",
    "action.backup.asked": "Nightly backup asked for",
    "audit.kind.backup": "Backups",
    "step.prepare_ansible": "Prepare Ansible",
    "step.look_before": "Look before anything is changed",
    "step.play": "Run the playbook",
    "queue.repair": "Repairs",
    "action.access_log.deleted": "File of the access log deleted",
    "audit.kind.access_log": "Access log",
    "action.repair.asked": "Repair asked for",
    "action.repair.ended": "Repair ended",
    "action.repair.cancelled": "Repair cancelled",
}
