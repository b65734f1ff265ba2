"""English for things not found and for bad requests, by code."""

SENTENCES = {
    "not_found.user": "There is no such user, or you may not see it.",
    "not_found.workspace": "There is no such workspace, or you may not see it.",
    "not_found.node": "There is no such node, or you may not see it.",
    "not_found.dataset": "There is no such dataset, or you may not see it.",
    "not_found.training": "There is no such training, or you may not see it.",
    "not_found.job": "There is no such job, or you may not see it.",
    "not_found.attempt": "There is no such attempt, or you may not see it.",
    "not_found.operation": "There is no such operation, or you may not see it.",
    "not_found.token": "There is no such token, or you may not see it.",
    "not_found.session": "There is no such session, or you may not see it.",
    "not_found.checkpoint": "There is no such checkpoint, or you may not see it.",
    "not_found.environment": "There is no such environment, or you may not see it.",
    "not_found.log": "There is no such log, or you may not see it.",
    "not_found.file": "There is no such file, or you may not see it.",
    "not_found.page": "There is no such page, or you may not see it.",
    "not_found.link": "This link is not valid. Ask an administrator for a new one.",
    "http.400": "The request could not be read.",
    "http.401": "Sign in first, or send an API token.",
    "http.403": "You may not do this.",
    "http.404": "There is nothing at this address.",
    "http.405": "This address does not take that kind of request.",
    "http.406": "This address cannot answer in that form.",
    "http.408": "The request took too long to arrive. Send it again.",
    "http.409": "Somebody else changed it first. Load the page again.",
    "http.411": "The request does not say how long it is.",
    "http.412": "It has changed since you read it. Read it again.",
    "http.413": "This is more than is taken at once here: at most {limit:bytes}.",
    "http.414": "The address is too long.",
    "http.415": "Send JSON with Content-Type: application/json, and files as multipart/form-data.",
    "http.416": "That part of the file does not exist.",
    "http.422": "Some fields have to be changed.",
    "http.428": "Say which version you have read: send If-Match.",
    "http.429": "Too many requests. Wait a moment and try again.",
    "http.431": "The request's headers are too long. Delete this site's cookies and try again.",
    "http.500": "Something is broken in Groundcrew itself. It has been written to the log.",
    "http.503": "Part of the installation does not answer. Try again in a moment.",
    "http.form_too_old": "This form was open for too long. Send it once more.",
    "body.unknown_field": "There is no field {field}. Leave it out.",
    "body.field_missing": "{field} is missing.",
    "body.not_an_integer": "{field} must be a whole number.",
    "body.not_a_boolean": "{field} must be true or false.",
    "body.not_text": "{field} must be text.",
    "body.not_a_list": "{field} must be a list.",
    "body.not_an_object": "Send a JSON object here.",
    "body.not_json": "The body is not JSON. Check its quotes and commas, and send it as application/json.",
    "body.null": "{field} may not be null. Leave it out instead.",
    "body.too_many_values": (
        "The body has more than {most:number} values. Send less at once: nothing here takes so many."
    ),
    "body.field_twice": "The field {name} stands there twice. Send it once.",
    "body.wrong_value": "{field} cannot be used like that: {wanted}",
    "idempotency.other_body": (
        "The key “{key}” was used for another request. Use a new key for a new request."
    ),
    "idempotency.bad_key": "An Idempotency-Key has 1 to 100 visible characters.",
    "stream.too_many": (
        "You have {most} live pages open, and no more are possible. Close some tabs; this page still shows the "
        "state when it is loaded."
    ),
    "stream.all_taken": (
        "All places for live pages are taken at the moment. This page still shows the state when it is loaded."
    ),
    "job.too_many_files": (
        "Too many files of numbers are being written at the moment. Wait until one of yours has arrived, and "
        "ask again."
    ),
    "stream.unknown_topic": "Unknown topics: {topics:list}.",
    "settings.missing": (
        "These settings are missing or cannot be used: {names:list}. Set them and start again."
    ),
    "database.too_old": (
        "This database was made by an older version of Groundcrew (migration {found}), and this one migrates "
        "from {oldest} on. Start the older version again, export what you need from it, and make a new "
        "installation with this one (docs/howto/upgrades.md)."
    ),
    "database.newer": (
        "This database was written by a newer version ({found}; this one knows {known}). Start the newer "
        "version again."
    ),
    "database.foreign": "This database does not belong to Groundcrew. Check the setting of its address.",
    "not_found.code_version": "There is no such version of the code.",
}

HINTS = {
    "not_found": "Check the address, or ask whoever gave it to you.",
    "http.500": "Try again; if it stays so, give an administrator the request number below.",
}

TITLES = {
    "not_found": "Not found",
    "http": "This did not work",
    "http.404": "Not found",
    "http.403": "Not allowed",
    "http.500": "A fault of ours",
    "body": "The request's body cannot be used",
    "idempotency": "This key cannot be used",
    "stream": "No live updates",
    "settings": "The start was stopped",
    "database": "Database",
    "unknown": "This did not work",
}
