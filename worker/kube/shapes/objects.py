"""Which objects a run is: a Job, an Indexed Job with names for its pods, an MPIJob, or a pod that is spoken to."""

from cluster.domain import notebooks
from cluster.domain.launch import SSH_PORT, split
from worker.kube import names
from worker.kube.api import Thing
from worker.kube.kinds import head
from worker.kube.places import say_places
from worker.kube.shapes.pod import HOST, RUNTIME_INSIDE, labels_of, template
from worker.kube.shapes.run import Gang, Run

NAME = "run"
USER_HOME = "/home/mpiuser"
"""As in the default image: worker/environments/default/image.toml."""
SSHD = (
    "exec /usr/sbin/sshd -De -f {home}/.sshd_config"
    ' -o "SetEnv=NVIDIA_VISIBLE_DEVICES=$NVIDIA_VISIBLE_DEVICES GROUNDCREW_NODE=$GROUNDCREW_NODE"'
)


def objects_of(run: Run) -> list[Thing]:
    """In the order in which they are made; the last one is the run itself."""
    if run.gang is Gang.MPI:
        return [mpi_job(run)]
    if run.gang is Gang.INDEXED:
        return [names_of_pods(run), indexed_job(run)]
    if run.gang is Gang.NOTEBOOK:
        return [door(run), notebook(run)]
    return [job(run)]


def owner_kind(gang: Gang) -> str:
    return {Gang.MPI: "MPIJob", Gang.NOTEBOOK: "Pod"}.get(gang, "Job")


def begin(run: Run, kind: str) -> Thing:
    """With the label by which Kueue holds it back until the workspace's queue has room for all of it."""
    place = names.name_of(run.job, run.attempt), names.namespace_of(run.workspace)
    labels = labels_of(run) | ({names.QUEUE_LABEL: names.LOCAL_QUEUE} if kind in ("Job", "MPIJob") else {})
    begun = head(kind, *place, labels)
    begun["metadata"]["annotations"] = {names.FOLDER: str(run.folder)}
    return begun


def begin_gang(run: Run, kind: str) -> Thing:
    """Where its nodes have not as many units each: how many each has (see worker/kube/places.py)."""
    begun = begin(run, kind)
    if not run.is_even:
        begun["metadata"]["annotations"][names.UNITS] = say_places(run.members)
    return begun


def job(run: Run) -> Thing:
    """Tried once: whether there is another attempt is ours to say."""
    return begin(run, "Job") | {
        "spec": {
            "backoffLimit": 0,
            "completions": 1,
            "parallelism": 1,
            "template": template(run, NAME, run.command, run.units),
        }
    }


def indexed_job(run: Run) -> Thing:
    """One pod per node where every node has as many units, else one per unit; one lost ends all."""
    pods, units = pods_of(run)
    name = names.name_of(run.job, run.attempt)
    made = template(run, NAME, run.command, units)
    made["spec"] |= {"subdomain": name, **apart(run, numbers_of(run))}
    return begin_gang(run, "Job") | {
        "spec": {
            "backoffLimit": 0,
            "completionMode": "Indexed",
            "completions": pods,
            "parallelism": pods,
            "template": made,
        }
    }


def names_of_pods(run: Run) -> Thing:
    """A service without an address of its own: `gc-7-1-0.gc-7-1` is the pod with number 0, also before it is ready."""
    return begin(run, "Service") | {
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": numbers_of(run),
        }
    }


def mpi_job(run: Run) -> Thing:
    """The launcher has the shim; workers are reached by ssh, with keys that the MPI operator makes for this run."""
    pods, units = pods_of(run)
    serve = ["/bin/bash", "-c", SSHD.format(home=USER_HOME)]
    ready = {
        "ports": [{"name": "ssh", "containerPort": SSH_PORT}],
        "readinessProbe": {"tcpSocket": {"port": SSH_PORT}, "periodSeconds": 1, "failureThreshold": 60},
    }
    worker = template(run, "worker", serve, units, more=ready)
    worker["spec"] |= apart(run, numbers_of(run) | {names.ROLE: "worker"})
    return begin_gang(run, "MPIJob") | {
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
                    "template": template(run, "launcher", run.command, 0),
                },
                "Worker": {"replicas": pods, "restartPolicy": "Never", "template": worker},
            },
        }
    }


def notebook(run: Run) -> Thing:
    """A pod by itself: it is not a Job, because it never ends by having done its work.

    Its service leads to it once it answers, and as long as it does.
    """
    serves = {
        "ports": [{"name": "web", "containerPort": run.port}],
        "readinessProbe": {
            "httpGet": {"path": notebooks.IS_UP, "port": "web"},
            "periodSeconds": 2,
            "failureThreshold": 30,
        },
    }
    labels = {names.DOOR: names.WEB}
    made = template(run, NAME, run.command, run.units, more=serves, labels=labels)
    begun = begin(run, "Pod")
    begun["metadata"]["labels"] |= made["metadata"]["labels"]
    return begun | {"spec": made["spec"]}


def door(run: Run) -> Thing:
    return begin(run, "Service") | {
        "spec": {
            "selector": numbers_of(run),
            "ports": [{"name": "web", "port": run.port, "targetPort": "web"}],
        }
    }


def numbers_of(run: Run) -> dict[str, str]:
    """Labels that all pods of the attempt have, and no others."""
    return {names.JOB: str(run.job), names.ATTEMPT: str(run.attempt)}


def pods_of(run: Run) -> tuple[int, int]:
    """How many pods, and how many units in each."""
    counts = split([member.units for member in run.members])
    return len(counts), counts[0]


def apart(run: Run, labels: dict[str, str]) -> Thing:
    """Pods that have all units of a node in them are on one node each; others wait until they are told theirs."""
    if not run.is_even:
        return {"schedulingGates": [{"name": names.GATE}]}
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
    """The image's Python runs it, and nothing that the image or the code brings is imported before."""
    return ("/usr/bin/env", "python3", "-I", "-S", f"{RUNTIME_INSIDE}/{entry}", folder, *more)
