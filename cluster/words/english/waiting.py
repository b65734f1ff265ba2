"""English for waiting reasons, by code."""

SENTENCES = {
    "waiting.not_enough_units": "Needs {needed:units} on one node; the emptiest node, {node}, has {free}.",
    "waiting.not_enough_units.one_node": "Needs {needed:units}; {free:plural|1 is|# are} free on {node}.",
    "waiting.not_enough_together": (
        "Needs {needed:units} over several nodes; {free:plural|1 is|# are} free on {nodes:nodes} together."
    ),
    "waiting.cluster_too_small": (
        "Needs {needed:units}, and the {nodes:nodes} together have {most} in working order. It cannot start "
        "before more are there."
    ),
    "waiting.nodes_too_small": (
        "Needs {needed:units}, and no node has that many in working order; {node} has {most}. It cannot "
        "start before one is repaired."
    ),
    "waiting.quota_used": "The workspace uses {used} of its {quota:units}; this job needs {needed}.",
    "waiting.quota_too_small": (
        "Needs {needed:units}, and the workspace holds {quota}. It cannot start before an administrator gives "
        "the workspace more."
    ),
    "waiting.ahead_in_queue": "Waits for its turn behind job-{job_id}.",
    "waiting.held_for_another": (
        "The free units on {node} are kept for {job_id:job}, which has waited longer."
    ),
    "waiting.workspace_not_started": "Workspace {workspace} starts on {starts_on:day}.",
    "waiting.workspace_expired": (
        "Workspace {workspace} ended on {ended_on:day}. The job starts when an administrator extends it."
    ),
    "waiting.storage_full": (
        "Workspace {workspace} stores {used:bytes} of the {limit:bytes} that it may: nothing is added and no job "
        "starts there."
    ),
    "waiting.environment_not_ready": (
        "The training environment {name} is being built, {progress:percent} done. The job starts when it "
        "is ready."
    ),
    "waiting.environment_not_ready.step": (
        "The training environment {name} is being built, {progress:percent} done, now: {step:word step}. "
        "The job starts when it is ready."
    ),
    "waiting.environment_failed": (
        "The training environment {name} could not be built. The job starts when an administrator has "
        "tried again with success."
    ),
    "waiting.environment_failed.operation": (
        "The training environment {name} could not be built: operation-{operation_id} failed. The job starts "
        "when an administrator has tried again with success."
    ),
    "waiting.no_gpu_environment": (
        "The units here are GPUs, and the training environment {name} computes on CPUs only. The job starts when an "
        "administrator has an executor with an image for GPUs, such as Kubernetes with the variant cuda."
    ),
    "waiting.no_gpu_environment.image": (
        "The units here are GPUs, and the image {image} computes on CPUs only. The job starts when an administrator "
        "has added cuda to default_image_variants and run site.yml."
    ),
    "waiting.dataset_not_ready": (
        "Dataset {name} is being prepared, {progress:percent} done. The job starts when it is ready."
    ),
    "waiting.dataset_failed": (
        "Dataset {name} could not be prepared. Stop this job and choose another dataset."
    ),
    "waiting.dataset_failed.operation": (
        "Dataset {name} could not be prepared: operation-{operation_id} failed. Stop this job and choose "
        "another dataset."
    ),
    "waiting.disk_short": (
        "The disk {mount} has {free:bytes} free, and {reserve:bytes} are kept for the database. Largest jobs: "
        "{fillers:sizes}. The job starts once files are deleted."
    ),
    "waiting.disk_short.unknown": (
        "The disk {mount} has {free:bytes} free, and {reserve:bytes} are kept for the database. The job starts "
        "once files are deleted."
    ),
    "waiting.node_unreachable": (
        "{node} does not answer, and no other node can run it. It starts when {node} is back."
    ),
    "waiting.node_unreachable.since": (
        "{node} has not answered since {since:clock}, and no other node can run it. It starts when {node} "
        "is back."
    ),
    "waiting.node_lost": (
        "{node} has been silent for too long, and no other node can run it. It starts when {node} is back."
    ),
    "waiting.node_lost.since": (
        "{node} has been silent since {since:clock}, and no other node can run it. It starts when {node} is "
        "back."
    ),
    "waiting.node_draining": (
        "{node} is being drained: nothing new starts there, and no other node can run it. It starts when the "
        "drain is lifted."
    ),
    "waiting.node_draining.since": (
        "{node} has been draining since {since:clock}: nothing new starts there, and no other node can run "
        "it. It starts when the drain is lifted."
    ),
    "waiting.node_kept_out": "{why:why} No other node can run it; it starts when Kubernetes uses {node} again.",
    "waiting.on_hold": "Held by {by} since {since:clock}. It starts when it is let go, and keeps nobody waiting.",
    "waiting.sweep_limit": (
        "Sweep {sweep_id} runs {most:plural|1 job|# jobs} at a time, and {most:plural|it runs|they run} now. "
        "It starts when one of them ends."
    ),
    "waiting.no_executor": (
        "{nodes:plural|The only node cannot|None of # nodes can} start jobs: {node} has no executor."
    ),
    "waiting.no_nodes": (
        "Needs {needed:plural|1 unit|# units}, and no node has reported yet. The job starts when "
        "groundcrew-agent runs on the first."
    ),
    "waiting.interrupted": "Attempt {attempt} was interrupted: {cause:code} It waits for units again.",
    "waiting.tried_later": (
        "{in_a_row} attempts in a row were interrupted as soon as they began, the last on {node}: {cause:code} "
        "It is tried again at {until:clock}, after a pause of {pause:duration}."
    ),
    "waiting.tried_again": (
        "Attempt {attempt} failed: {cause:code} It is tried again, {used} of {retries} times."
    ),
    "waiting.interrupted.node": "Attempt {attempt} on {node} was interrupted: {cause:code} It waits for units again.",
    "waiting.submitted": "The scheduler looks at it within 2 seconds.",
    "waiting.start.ahead": "{ahead:plural|One job is|# jobs are} ahead.",
    "waiting.start.ahead.more": "More than {ahead:number} jobs are ahead.",
    "waiting.start.freed_at": "Starts on {starts_on_node} when job-{freed_by} ends, about {starts_at:clock}.",
    "waiting.start.freed_at.anywhere": "Starts when job-{freed_by} ends, about {starts_at:clock}.",
    "waiting.start.freed": (
        "Starts on {starts_on_node} when job-{freed_by} ends; when that will be is not known."
    ),
    "waiting.start.freed.anywhere": "Starts when job-{freed_by} ends; when that will be is not known.",
    "waiting.start.at": "Starts on {starts_on_node}, about {starts_at:clock}.",
    "waiting.start.at.anywhere": "Starts about {starts_at:clock}.",
    "waiting.certainty.time_limits": "That is when time limits end what runs: it may be earlier.",
    "waiting.certainty.history": "That is how long earlier runs took.",
    "waiting.certainty.history.range": (
        "Going by earlier runs it is between {earliest_at:clock} and {latest_at:clock}."
    ),
    "waiting.certainty.progress": "That is from the progress of the running jobs.",
    "waiting.certainty.progress.range": (
        "Going by the progress of the running jobs it is between {earliest_at:clock} and {latest_at:clock}."
    ),
    "waiting.certainty.totals": (
        "Starts between {earliest_at:clock} and {latest_at:clock}, going by the totals of the queue."
    ),
    "waiting.helps.time": "With a time limit of {helps_seconds:duration} it starts now.",
    "waiting.helps": "With {helps_units:units} it starts now.",
    "interrupted.services_stopped": "The services were stopped on purpose.",
    "interrupted.engine_stopped": (
        "The container engine stopped it: it was restarted, or somebody stopped the container by hand."
    ),
    "interrupted.node_rebooted": "The node was restarted meanwhile.",
    "interrupted.node_rebooted.named": "{node} was restarted meanwhile.",
    "interrupted.shim_lost": "The process that watched it disappeared.",
    "interrupted.node_lost": "The node stayed silent for too long.",
    "interrupted.node_lost.named": "{node} stayed silent for too long and was given up.",
    "interrupted.disk_full": "The disk was full, and the job could not write.",
    "interrupted.disk_full.mount": "The disk {mount} was full, and the job could not write.",
    "interrupted.pod_deleted": "A pod of it was deleted, and not by Groundcrew.",
    "interrupted.start_deadline": "It could not be started on all its nodes in time.",
    "interrupted.start_deadline.why": "It could not be started on all its nodes in time. {why:why}",
}

TITLES = {
    "interrupted": "Interrupted",
    "waiting": "Waiting",
}

WORDS = {
    "label.waiting.not_enough_units": "Too few units free",
    "label.waiting.nodes_too_small": "No node fits",
    "label.waiting.quota_used": "Quota used up",
    "label.waiting.ahead_in_queue": "Waiting behind own workspace",
    "label.waiting.held_for_another": "Kept for another",
    "label.waiting.workspace_not_started": "Workspace not begun",
    "label.waiting.workspace_expired": "Workspace ended",
    "label.waiting.storage_full": "Storage limit reached",
    "label.waiting.environment_not_ready": "Environment being built",
    "label.waiting.environment_failed": "Environment failed",
    "label.waiting.no_gpu_environment": "No environment for GPUs",
    "label.waiting.dataset_not_ready": "Dataset being made",
    "label.waiting.dataset_failed": "Dataset failed",
    "label.waiting.node_unreachable": "Node unreachable",
    "label.waiting.no_executor": "No executor",
    "label.waiting.no_nodes": "No node yet",
    "label.waiting.sweep_limit": "Limit of its sweep",
    "label.waiting.on_hold": "Held",
    "label.waiting.tried_later": "Tried again later",
    "label.waiting.node_draining": "Node being drained",
    "label.waiting.node_lost": "Node lost",
    "label.waiting.node_kept_out": "Not in Kubernetes",
    "label.other": "Another reason",
}
"""Waiting reasons as labels, for filters and counts."""
