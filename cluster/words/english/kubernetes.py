"""English for what Kubernetes reports about jobs and nodes, by code."""

SENTENCES = {
    "kubernetes.queue_full": (
        "Kueue holds it back: the workspace's queue lacks {lacking} × {resource:word kubernetes.resource} on nodes "
        "of kind {flavor}."
    ),
    "kubernetes.queue_too_small": (
        "Kueue holds it back: it needs {needed} × {resource:word kubernetes.resource} on nodes of kind {flavor}, "
        "and the workspace's queue never has more than {most}."
    ),
    "kubernetes.queue_lacks": (
        "Kueue holds it back: the workspace's queue knows no {resource:word kubernetes.resource}."
    ),
    "kubernetes.queue_stopped": "Kueue holds it back: the workspace's queue is stopped.",
    "kubernetes.queue_stopped.named": "Kueue holds it back: queue {queue} is stopped.",
    "kubernetes.queue_missing": "Kueue holds it back: the workspace has no queue in Kubernetes.",
    "kubernetes.queue_missing.named": "Kueue holds it back: queue {queue} is not there.",
    "kubernetes.flavor_unfit": "Kueue holds it back: nodes of kind {flavor} do not take it.",
    "kubernetes.queue_preempted": "Kueue took its units back for another workload.",
    "kubernetes.queue_preempted.named": "Kueue took its units back for a workload of queue {queue}.",
    "kubernetes.pods_late": "Kueue gave up waiting for its pods.",
    "kubernetes.switched_off": "Somebody has switched its workload off in Kueue.",
    "kubernetes.nodes_refuse": (
        "{nodes:plural|The only node of Kubernetes does|None of the # nodes of Kubernetes} "
        "{nodes:plural|not take it|takes it}: {causes:whys}."
    ),
    "kubernetes.nodes_refuse.chosen": (
        "Kubernetes does not start it on {chosen:list}, where the queue has placed it: {causes:whys}."
    ),
    "kubernetes.node.too_little": "{nodes:plural|1 lacks|# lack} free {what:word kubernetes.resource}",
    "kubernetes.node.too_little.needed": (
        "too little free {what:word kubernetes.resource} on {nodes:nodes} for the {needed:amount} that it asks for"
    ),
    "kubernetes.node.many_pods": "{nodes:plural|1 runs|# run} as many pods as it may",
    "kubernetes.node.not_placed_there": "{nodes:plural|1 was|# were} not chosen for it",
    "kubernetes.node.closed": "{nodes:plural|1 is|# are} closed",
    "kubernetes.node.away": "{nodes:plural|1 is|# are} not ready",
    "kubernetes.node.pressed": "{nodes:plural|1 runs|# run} short of {what:word kubernetes.resource}",
    "kubernetes.node.master": "{nodes:plural|1 is a master|# are masters}",
    "kubernetes.node.tainted": "{nodes:plural|1 is|# are} kept for something else",
    "kubernetes.node.volume_elsewhere": "{nodes:plural|1 does|# do} not reach its volume",
    "kubernetes.node.no_volume": "{nodes:plural|1 has|# have} no volume for it",
    "kubernetes.node.port_taken": "on {nodes:plural|1|#} its port is taken",
    "kubernetes.node.kept_apart": "on {nodes:plural|1|#} it has to keep away from other pods",
    "kubernetes.volume_missing": "The volume that it reads from is not there.",
    "kubernetes.volume_missing.named": "Volume {name} that it reads from is not there.",
    "kubernetes.gated": "Kueue has not let it through yet.",
    "kubernetes.image_not_pulled": "{node} cannot get image {image:image} from its registry.",
    "kubernetes.image_not_there": "Image {image:image} is not on {node}, and may come from nowhere else.",
    "kubernetes.image_name_broken": "{image:image} is no name of an image.",
    "kubernetes.image_is_root": (
        "Image {image:image} runs as root, which no workspace may: container {container} was not made."
    ),
    "kubernetes.setting_missing": "Container {container} reads {name}, which is not there.",
    "kubernetes.command_missing": "Image {image:image} has no command {command}.",
    "kubernetes.container_not_made": "The container engine of {node} refused container {container}.",
    "kubernetes.keeps_crashing": (
        "Container {container} has ended {times:plural|once|# times} as soon as it had begun."
    ),
    "kubernetes.out_of_memory": "{node} ran out of memory and ended container {container}.",
    "kubernetes.out_of_memory.limit": (
        "Container {container} on {node} used more than its {limit} of memory and was ended."
    ),
    "kubernetes.evicted": "{node} ran short of {resource:word kubernetes.resource} and took it off.",
    "kubernetes.evicted.named": (
        "{node} ran short of {resource:word kubernetes.resource} and took it off; container {container} used {used}."
    ),
    "kubernetes.disk_allowance_used": (
        "It wrote more than {limit} into its container on {node} and was taken off."
    ),
    "kubernetes.taken_off": "It was taken off {node}, which was drained or went away.",
    "kubernetes.pushed_out": "It was taken off {node} for a pod of higher priority.",
    "kubernetes.units_taken": (
        "{node} has {free} × {resource:word kubernetes.resource} to give, and it needs {needed}: somebody else has "
        "taken them, or they broke."
    ),
    "kubernetes.node_full": (
        "{node} refused it: of {all} × {resource:word kubernetes.resource} {used} are used, and it needs {needed}."
    ),
    "kubernetes.unheard": "Kubernetes has not answered since {since:clock}.",
    "kubernetes.node_silent": "The kubelet of {node} does not report.",
    "kubernetes.node_silent.since": "The kubelet of {node} has not reported since {since:clock}.",
    "kubernetes.engine_down": "The container engine of {node} does not answer its kubelet.",
    "kubernetes.network_down": "Pods on {node} get no address.",
    "kubernetes.shutting_down": "{node} is shutting down.",
    "kubernetes.closed": "{node} is closed in Kubernetes: nothing new starts there.",
    "kubernetes.node_missing": "Kubernetes has no node {node}.",
    "kubernetes.no_words": "{speaker} says something that we have no words for: {word}.",
    "kubernetes.original": "Its own words: {said}",
    "disagreement.stranger": "Pod {pod} holds {units:units} on {node}, and our queue knows nothing of it.",
    "disagreement.refused": "{job} has its units and does not begin. {why:why}",
    "disagreement.in_the_way": (
        "Pod {pod} holds {amount:amount} of {what:word kubernetes.resource} on {node}, which {job} lacks."
    ),
    "disagreement.unit_twice": "{jobs:list} say that they have the same unit, {unit}.",
    "disagreement.not_kept": "{object} is not as it should be, and Kubernetes answers {status}: {said}",
    "disagreement.namespace_goes": (
        "Somebody is deleting {namespace} with everything in it. It is made anew once it is gone."
    ),
    "disagreement.more": "{count} more that are not named here.",
    "disagreement.closed_door": "Kubernetes does not let Groundcrew look. It answers {status}: {said}",
}

HINTS = {
    "kubernetes": "The page of nodes says what is wrong in Kubernetes, and has an administrator's repair beside it.",
    "kubernetes.nodes_refuse": (
        "A closed node, or somebody's pods beside the queue, may be why: an administrator sees both on the page of "
        "nodes."
    ),
    "kubernetes.units_taken": "Whose pods hold units beside the queue stands on the page of nodes, for administrators.",
    "kubernetes.node_full": "Whose pods hold units beside the queue stands on the page of nodes, for administrators.",
    "kubernetes.image_not_pulled": (
        "An administrator looks whether the registry answers and has this image; the node asks for it again by itself."
    ),
    "kubernetes.image_name_broken": "An administrator corrects GROUNDCREW_KUBERNETES_IMAGE.",
    "disagreement.stranger": (
        "Ask whose it is: jobs that are placed on these units do not begin before it has ended."
    ),
    "disagreement.in_the_way": "Ask whose it is: the job begins by itself once there is room.",
    "disagreement.unit_twice": "Stop one of them, and look whether somebody has started a pod of their own there.",
    "disagreement.not_kept": "Mostly a webhook or a policy of the cluster refuses it. It is tried again each hour.",
    "disagreement.closed_door": "Somebody has changed the rights of groundcrew-scheduler: site.yml gives them again.",
    "kubernetes.out_of_memory": "Use a smaller batch size, load less data at once, or ask for more units.",
    "kubernetes.disk_allowance_used": "Write large files to $GROUNDCREW_OUT, which is on the shared storage.",
}

TITLES = {"disagreement": "Kubernetes does otherwise"}

WORDS = {
    "kubernetes.resource.nvidia.com/gpu": "GPUs",
    "kubernetes.resource.cpu": "CPU cores",
    "kubernetes.resource.memory": "memory",
    "kubernetes.resource.ephemeral-storage": "disk space",
    "kubernetes.resource.disk": "disk space",
    "kubernetes.resource.inodes": "room for files",
    "kubernetes.resource.pids": "room for processes",
    "kubernetes.resource.pid": "room for processes",
    "kubernetes.resource.pods": "room for pods",
    "action.workspace.put_right": "Changed by hand in Kubernetes, put right",
    "action.workspace.made_again": "Deleted by hand in Kubernetes, made again",
}
