"""English for what people chose to be told of, by code."""

SENTENCES = {
    "notification.job_finished": "{job:job} ({name}) has finished after {seconds:duration}",
    "notification.job_failed": "{job:job} ({name}) has failed after {seconds:duration}",
    "notification.job_stopped": "{job:job} ({name}) was stopped after {seconds:duration}",
    "notification.job_failed.unstarted": (
        "{job:job} ({name}) has failed without having run, after {seconds:duration}"
    ),
    "notification.job_stopped.unstarted": (
        "{job:job} ({name}) was stopped while it waited, after {seconds:duration}"
    ),
    "notification.headline": "result: {metric:word metric} {value:metric} ({which:word metric.value})",
    "notification.sweep_ended": (
        "sweep-{sweep} ({name}) has ended: {finished:number} of {jobs:jobs} finished, {failed:number} "
        "failed, {stopped:number} stopped"
    ),
    "notification.job_waits": "{job:job} ({name}) has waited for more than {seconds:duration}",
    "notification.jobs_wait": (
        "{job:job} ({name}) and {others:plural|one more job|# more jobs} have waited for more than "
        "{seconds:duration}"
    ),
    "notification.last_day": "its last day is {on:day}",
    "notification.digest": "{things:plural|one message|# messages}",
    "notification.left_out": "… and {things:plural|one more|# more}",
    "notification.zone": "Times are in {zone}.",
    "notification.invitation_subject": "You are invited",
    "notification.invitation": (
        "{by} has made an account for you. Your name is {name}. Choose your password with this link:"
    ),
    "notification.invitation_term": (
        "It works once, until {until:clock} ({zone}). If you expected no account, delete this mail."
    ),
    "notification.chosen": "You chose these messages in your profile: {url}",
    "notification.test_subject": "A test message",
    "notification.test": "Messages from Groundcrew arrive here.",
    "notification.kind_unknown": "{typed} is nothing that Groundcrew tells of. Choose from {kinds:list}.",
    "notification.webhook_unusable": (
        "Write a whole address with http:// or https://, without a name or password before the host."
    ),
    "notification.webhook_host": "{host} is not among the hosts that the administrator allows: {hosts:list}.",
    "notification.webhook_address": (
        "The host leads to this machine, to a local network connection or into the cluster, where no "
        "webhook is called."
    ),
    "notification.no_address": "Give a mail address or a webhook first.",
    "notification.hour_is_full": "Ten messages were sent within the last hour. Try it again later.",
}

TITLES = {"notification": "Messages"}

WORDS = {
    "action.user.notifications_set": "Messages chosen",
    "action.user.notification_test": "Test message sent",
    "notification.kind.job_ended": "A job of mine has finished, or somebody else stopped it",
    "notification.kind.job_failed": "A job of mine has failed",
    "notification.kind.job_waits": "A job of mine waits for long",
    "notification.kind.term_ends": "The term of a workspace of mine ends soon",
    "notification.state.waiting": "on its way",
    "notification.state.sent": "arrived",
    "notification.state.given_up": "given up",
    "notice.channel.personal_webhook": "your webhook",
}
