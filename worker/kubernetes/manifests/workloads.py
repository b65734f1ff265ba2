"""The workload of a run: a Job, an Indexed Job with DNS names for its pods, an MPIJob, or a notebook's pod."""

from cluster.domain.jobs.launch import SSH_PORT, units_per_pod
from cluster.domain.notebooks import jupyter_server
from worker.kubernetes import object_names
from worker.kubernetes.api_client import KubernetesObject
from worker.kubernetes.manifests.pod_template import HOST, RUNTIME_INSIDE, pod_labels, pod_template
from worker.kubernetes.manifests.run_spec import GangKind, RunSpec
from worker.kubernetes.node_assignment import format_assignment
from worker.kubernetes.object_kinds import object_head

CONTAINER_NAME = "run"
USER_HOME = "/home/mpiuser"
"""The home folder in the default image (worker/environments/default/image.toml)."""
SSHD = (
    "exec /usr/sbin/sshd -De -f {home}/.sshd_config"
    ' -o "SetEnv=NVIDIA_VISIBLE_DEVICES=$NVIDIA_VISIBLE_DEVICES GROUNDCREW_NODE=$GROUNDCREW_NODE"'
)


def run_objects(run: RunSpec) -> list[KubernetesObject]:
    """The objects in the order of their creation. The last one is the run itself."""
    if run.gang is GangKind.MPI:
        return [mpi_job(run)]
    if run.gang is GangKind.INDEXED:
        return [pod_dns_service(run), indexed_job(run)]
    if run.gang is GangKind.NOTEBOOK:
        return [notebook_service(run), notebook_pod(run)]
    return [single_job(run)]


def object_of_run(run: RunSpec, kind: str) -> KubernetesObject:
    """The metadata of the run, with the label by which Kueue holds it back until the workspace's queue has room for
    all of it.
    """
    place = object_names.run_name(run.job, run.attempt), object_names.workspace_namespace(run.workspace)
    labels = pod_labels(run) | (
        {object_names.QUEUE_LABEL: object_names.LOCAL_QUEUE} if kind in ("Job", "MPIJob") else {}
    )
    begun = object_head(kind, *place, labels)
    begun["metadata"]["annotations"] = {object_names.FOLDER: str(run.folder)}
    return begun


def object_of_gang(run: RunSpec, kind: str) -> KubernetesObject:
    """Returns `object_of_run`. An uneven gang adds the units of each node (worker/kubernetes/node_assignment.py)."""
    begun = object_of_run(run, kind)
    if not run.is_even:
        begun["metadata"]["annotations"][object_names.UNITS] = format_assignment(run.members)
    return begun


def single_job(run: RunSpec) -> KubernetesObject:
    """A Job that is tried once, because the scheduler decides about another attempt."""
    return object_of_run(run, "Job") | {
        "spec": {
            "backoffLimit": 0,
            "completions": 1,
            "parallelism": 1,
            "template": pod_template(run, CONTAINER_NAME, run.command, run.units),
        }
    }


def indexed_job(run: RunSpec) -> KubernetesObject:
    """One pod per node if every node has the same number of units, else one pod per unit. The loss of one pod ends
    all.
    """
    pods, units = pod_counts(run)
    name = object_names.run_name(run.job, run.attempt)
    made = pod_template(run, CONTAINER_NAME, run.command, units)
    made["spec"] |= {"subdomain": name, **spread_over_nodes(run, attempt_labels_of_pods(run))}
    return object_of_gang(run, "Job") | {
        "spec": {
            "backoffLimit": 0,
            "completionMode": "Indexed",
            "completions": pods,
            "parallelism": pods,
            "template": made,
        }
    }


def pod_dns_service(run: RunSpec) -> KubernetesObject:
    """A headless service: `gc-7-1-0.gc-7-1` is the address of pod 0, even before it is ready."""
    return object_of_run(run, "Service") | {
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": attempt_labels_of_pods(run),
        }
    }


def mpi_job(run: RunSpec) -> KubernetesObject:
    """An MPIJob whose launcher is the shim. Workers are reached by ssh, with keys that the MPI operator makes for
    this run.
    """
    pods, units = pod_counts(run)
    serve = ["/bin/bash", "-c", SSHD.format(home=USER_HOME)]
    ready = {
        "ports": [{"name": "ssh", "containerPort": SSH_PORT}],
        "readinessProbe": {"tcpSocket": {"port": SSH_PORT}, "periodSeconds": 1, "failureThreshold": 60},
    }
    worker = pod_template(run, "worker", serve, units, more=ready)
    worker["spec"] |= spread_over_nodes(run, attempt_labels_of_pods(run) | {object_names.ROLE: "worker"})
    return object_of_gang(run, "MPIJob") | {
        "spec": {
            "slotsPerWorker": units,
            "launcherCreationPolicy": "WaitForWorkersReady",
            "sshAuthMountPath": f"{USER_HOME}/.ssh",
            "mpiImplementation": "OpenMPI",
            "runPolicy": {"cleanPodPolicy": "Running", "backoffLimit": 0},
            "mpiReplicaSpecs": {
                "Launcher": {
                    "replicas": 1,
                    "restartPolicy": "Never",
                    "template": pod_template(run, "launcher", run.command, 0),
                },
                "Worker": {"replicas": pods, "restartPolicy": "Never", "template": worker},
            },
        }
    }


def notebook_pod(run: RunSpec) -> KubernetesObject:
    """A pod without a Job, because a notebook does not end by itself.

    Its service routes to the pod while the pod is ready.
    """
    serves = {
        "ports": [{"name": "web", "containerPort": run.port}],
        "readinessProbe": {
            "httpGet": {"path": jupyter_server.health_path(run.job), "port": "web"},
            "periodSeconds": 2,
            "failureThreshold": 30,
        },
    }
    labels = {object_names.WEB_LABEL: object_names.WEB}
    made = pod_template(run, CONTAINER_NAME, run.command, run.units, more=serves, labels=labels)
    begun = object_of_run(run, "Pod")
    begun["metadata"]["labels"] |= made["metadata"]["labels"]
    return begun | {"spec": made["spec"]}


def notebook_service(run: RunSpec) -> KubernetesObject:
    return object_of_run(run, "Service") | {
        "spec": {
            "selector": attempt_labels_of_pods(run),
            "ports": [{"name": "web", "port": run.port, "targetPort": "web"}],
        }
    }


def attempt_labels_of_pods(run: RunSpec) -> dict[str, str]:
    """The labels of all pods of the attempt and of no others."""
    return {object_names.JOB: str(run.job), object_names.ATTEMPT: str(run.attempt)}


def pod_counts(run: RunSpec) -> tuple[int, int]:
    """The number of pods, and the number of units in each."""
    counts = units_per_pod([member.units for member in run.members])
    return len(counts), counts[0]


def spread_over_nodes(run: RunSpec, labels: dict[str, str]) -> KubernetesObject:
    """One pod per node, if a pod has all units of its node. The pods of an uneven gang wait
    until they are assigned.
    """
    if not run.is_even:
        return {"schedulingGates": [{"name": object_names.SCHEDULING_GATE}]}
    if len(run.members) == 1:
        return {}
    spread = {
        "maxSkew": 1,
        "topologyKey": HOST,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": labels},
    }
    return {"topologySpreadConstraints": [spread]}


def shim_command(folder: str, entry: str = "shim.py", *more: str) -> tuple[str, ...]:
    """The image's Python runs the shim before it imports anything from the image or the code."""
    return ("/usr/bin/env", "python3", "-I", "-S", f"{RUNTIME_INSIDE}/{entry}", folder, *more)
