"""English for passwords, sign-ins, users, tokens and permissions, by code."""

SENTENCES = {
    "password.missing": "A password is needed: at least {least} characters.",
    "password.too_short": (
        "Too short with {length:characters}: use at least {least}. A few words in a row are easy to remember."
    ),
    "password.too_long": "Too long with {length:characters}: use at most {most}.",
    "password.only_spaces": "Spaces alone are no password. Add letters.",
    "password.nul": "This password has a character that no keyboard types. Type it again.",
    "password.is_name": "This is the user name with little around it. Choose something else.",
    "password.too_common": "This password is on the lists that attackers try first. Choose another one.",
    "password.bad_character": "Only letters a–z, A–Z, digits and {signs} are allowed.",
    "password.needs_upper": "Add a capital letter, A–Z.",
    "password.needs_lower": "Add a small letter, a–z.",
    "password.needs_digit": "Add a digit, 0–9.",
    "password.needs_sign": "Add one of {signs}.",
    "password.old_wrong": "This is not your present password. Type it again.",
    "password.unchanged": "This is your present password. Choose a new one.",
    "sign_in.wrong": (
        "Name or password is wrong. Try again, or ask an administrator for a link to set a new password."
    ),
    "sign_in.throttled": "Too many wrong tries. Try again in {minutes:minutes}.",
    "session.needed": "Sign in first.",
    "session.locked": "Too many wrong tries. Try again in {minutes:minutes}.",
    "first.secret_wrong": (
        "Wrong secret. It was printed in the terminal in which make up ran; make up prints a new one."
    ),
    "user.name_taken": "There is already a user “{name}”. Choose another name.",
    "user.last_administrator": "This is the last administrator. Make somebody else an administrator first.",
    "user.not_in_workspace": "“{name}” is no member of the workspace. Add them to the workspace first.",
    "user.role_unknown": "Choose a role: administrator or user.",
    "user.list_missing": "Enter one person on each line: account, full name, mail address, workspaces.",
    "user.list_too_many": "The list has {count:people}; at most {most} can be invited at once. Divide it.",
    "user.list_not_csv": "The list cannot be read as a table: {reason}. Save it as CSV again.",
    "user.list_not_text": "The file is no text, or larger than {most:bytes}. Save the table as CSV.",
    "user.list_unknown_column": (
        "“{column}” in the first line is no column, or stands there twice. Columns are {columns:list}."
    ),
    "user.list_too_many_cells": (
        "Line {line} has more than {columns} cells. Several workspaces stand in one cell, apart by spaces."
    ),
    "user.list_twice": "“{name}” stands in the list more than once. Give each person an account of their own.",
    "user.list_no_workspace": "There are no open workspaces {names:list}. Check the names on the page Workspaces.",
    "user.several_unknown": "There are no users {names:list}. Choose from the list.",
    "user.unknown": "There is no user “{name}”. Check the name on the page Users.",
    "preference.unknown": "“{value}” is no choice here.",
    "preference.unknown_time_zone": "“{value}” is not a known time zone. Use a name like Asia/Seoul or UTC.",
    "token.days_out_of_range": "A token lives 1 to {most} days.",
    "token.name_taken": "You have a token “{name}” already. Choose another name or revoke that one.",
    "token.too_many": "You have {most} tokens, and no more are possible. Revoke one that you do not use.",
    "token.revoked": (
        "This token was revoked: by hand, or because the password or the role of its person changed or the account was "
        "disabled. Make a new one on the page Profile, then run “groundcrew login”."
    ),
    "token.expired": (
        "The days of this token are over. Make a new one on the page Profile, then run “groundcrew login”."
    ),
    "token.scopes_unknown": "Choose one of the scopes read, write and repair.",
    "forbidden.scope": "This token may not do that: it lacks the scope “{scope}”.",
    "forbidden.token_reads_only": "This token may only read.",
    "forbidden.token_is_no_person": "An API token cannot do this; a person has to, signed in to the portal.",
    "forbidden.metrics_token": "Metrics are for whoever brings the token of GROUNDCREW_METRICS_TOKEN.",
    "forbidden.metrics_elsewhere": (
        "Metrics are only for this machine, until GROUNDCREW_METRICS_TOKEN says which token opens them."
    ),
    "forbidden.other_site": "This request came from another site and was not carried out.",
    "forbidden.administrators_only": "Only administrators may open this.",
    "forbidden.cluster.administer": "Only {allowed:words relation} may do this.",
    "forbidden.workspace.create": "Only {allowed:words relation} may create workspaces.",
    "forbidden.workspace.edit": "Only {allowed:words relation} may edit this workspace.",
    "forbidden.workspace.change_members": "Only {allowed:words relation} may change the members.",
    "forbidden.workspace.change_quota": "Only {allowed:words relation} may change the quota.",
    "forbidden.workspace.extend": "Only {allowed:words relation} may extend this workspace.",
    "forbidden.workspace.end": "Only {allowed:words relation} may end this workspace.",
    "forbidden.dataset.create": "Only {allowed:words relation} may create datasets here.",
    "forbidden.dataset.register_path": "Only {allowed:words relation} may register a path as a dataset.",
    "forbidden.dataset.unpack_again": "Only {allowed:words relation} may unpack this dataset again.",
    "forbidden.dataset.delete": "Only {allowed:words relation} may delete this dataset.",
    "forbidden.training.create": "Only {allowed:words relation} may create trainings here.",
    "forbidden.training.edit": "Only {allowed:words relation} may edit this training.",
    "forbidden.training.upload_code": "Only {allowed:words relation} may upload code to this training.",
    "forbidden.job.submit": "Only {allowed:words relation} may submit jobs here.",
    "forbidden.job.arrange": "Only {allowed:words relation} may hold and move jobs here.",
    "forbidden.job.annotate": "Only {allowed:words relation} may write tags and notes of this job.",
    "forbidden.job.stop": "Only {allowed:words relation} may stop this job.",
    "forbidden.operation.retry": "Only {allowed:words relation} may try this operation again.",
    "user.not_active": "“{name}” is disabled. Enable the user first.",
    "forbidden.training.hand_over": "Only {allowed:words relation} may hand over this training.",
    "forbidden.training.archive": "Only {allowed:words relation} may archive this training.",
    "forbidden.training.delete": "Only {allowed:words relation} may delete this training.",
    "forbidden.dataset.edit": "Only {allowed:words relation} may edit this dataset.",
}

HINTS = {
    "forbidden.scope": "Make a token with that scope on your profile page.",
    "forbidden.token_reads_only": "Make a token with the scope write on your profile page.",
    "forbidden.other_site": "Open the portal's own page and do it there.",
}

TITLES = {
    "password": "This password cannot be used",
    "sign_in": "Not signed in",
    "session": "Sign-in needed",
    "first": "First administrator",
    "user": "This cannot be done to the user",
    "preference": "Not changed",
    "token": "API token",
    "forbidden": "Not allowed",
}

WORDS = {
    "relation.administrator": "administrators",
    "relation.manager": "the workspace's manager",
    "relation.owner": "the owner",
    "relation.member": "members",
    "relation.stranger": "others",
    "role.administrator": "Administrator",
    "role.user": "User",
    "state.user.active": "Active",
    "state.user.disabled": "Disabled",
    "state.user.service": "Service",
    "scope.read": "Read",
    "scope.write": "Read and write",
    "scope.repair": "Read, write and repair",
}
