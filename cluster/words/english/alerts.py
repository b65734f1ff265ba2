"""English for alerts and for the mails about them, by code."""

SENTENCES = {
    "attention.job_stuck": "{job} cannot start",
    "attention.job_failed": "{job} ({name}) failed at {at:clock}",
    "attention.environment_failed": "The training environment could not be built",
    "attention.no_job_starts": "no job can start until it is",
    "attention.nothing_starts_since": "since {at:clock} nothing starts; what runs goes on",
    "attention.scheduler_silent": "The scheduler does not answer: no job starts, what runs goes on",
    "attention.queue_as_of": "reasons and expected starts are those of {at:clock}",
    "attention.backup_too_old": "No new backup has been proven by a restore",
    "attention.proven_last": "the last one was made at {at:clock}",
    "attention.proven_never": "never yet",
    "attention.backup_damaged": "Backup {name} is damaged: {problem:why}",
    "attention.nightly_failed": "The nightly backup failed",
    "attention.nightly_not_copied": "The nightly backup lies on this machine alone",
    "attention.audit_changed": "The access log was changed",
    "attention.node_silent": "{node} does not answer",
    "attention.node_given_up": "{node} does not answer and was given up",
    "attention.last_signal": "last signal at {at:clock}",
    "attention.booked_there": "booked there: {jobs:list}",
    "attention.units_broken": "{node}: {broken:units} of {all:number} broken",
    "attention.gpu_check_failed": "The check of the GPUs of {node} at {at:clock} did not end well",
    "attention.check_said": "it says: {line}",
    "attention.kubernetes_node": "Kubernetes does not use {node}",
    "attention.node_pressed": "{node} runs short of {pressures:words kubernetes.resource}",
    "attention.pod_network_silent": "{node} hears nothing of new pods on other nodes",
    "attention.operator_not_whole": "{name}: {ready:number} of {wanted:number} pods are ready",
    "attention.certificate_ends": "A certificate of Kubernetes on {node} ends in {days:days}",
    "attention.certificate_ended": "A certificate of Kubernetes on {node} has ended",
    "attention.certificate_named": "it is {certificate}",
    "attention.disk_full": "The disk of {node} is {share:percent} full",
    "attention.operation_given_up": "Stopped again and again: {operation:word operation}",
    "attention.dataset_failed": "Dataset {name} could not be made",
    "attention.term_ends": "Workspace {name} ends in {days:days}",
    "attention.term_ends_today": "Workspace {name} ends today",
    "attention.units_held": "holds {units:units}",
    "attention.not_told": "Messages by {channel:word notice.channel} do not arrive: {error}",
    "mail.subject": "{things:plural|one thing needs|# things need} you",
    "mail.greeting": "This needs you, {name}:",
    "mail.once": "Each thing is told once. Once it is settled the dashboard is silent about it.",
    "mail.stop": "No mail any more: empty the address in your profile, {url}",
    "mail.not_sent": "The mail server did not take it: {error}",
    "webhook.not_taken": "The webhook did not take it: {error}",
    "email.unusable": "{typed} is no mail address that a server could take.",
}

HINTS = {
    "attention.pod_network_silent": (
        "Connections go on, but pods that begin on other nodes are not reached from there. On the node: "
        "systemctl restart groundcrew-pod-network; journalctl -u groundcrew-pod-network says why."
    ),
    "attention.not_told": "Look at the settings of mail and webhook; what waits is sent again.",
}

TITLES = {"attention": "Needs you", "mail": "Mail", "webhook": "Webhook", "email": "Mail address"}

WORDS = {
    "state.alert.caution": "Caution",
    "operation.notices": "Tell people what needs them",
    "step.notices_send": "Send mails and call the webhook",
    "action.user.mail_set": "Mail address changed",
    "notice.channel.mail": "mail",
    "notice.channel.webhook": "webhook",
}
