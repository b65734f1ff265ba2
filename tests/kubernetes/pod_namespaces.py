"""The walls of a pod that a test plays: a process in namespaces of its own, below a root of its own."""

import shlex
import subprocess
from pathlib import Path

from worker.kubernetes.api_client import KubernetesObject

SYSTEM = ("usr", "bin", "sbin", "lib", "lib64", "etc", "var")
TRAINING = "opt/groundcrew/training/bin"
"""Where a default image has its Python; here it is the machine's."""


def start_container(
    root: Path, pod: KubernetesObject, command: list[str], mounts: list[tuple[Path, str, bool]], gpus: str
) -> "subprocess.Popen[bytes]":
    root.mkdir()
    lines = ["set -e", f"mount -t tmpfs none {root}", f"cd {root}", "mkdir proc dev tmp groundcrew run"]
    for part in SYSTEM:
        if Path("/", part).is_symlink():
            lines.append(f"ln -s {Path('/', part).readlink()} {part}")
        elif part == "etc" and any(target.startswith("/etc/") for _, target, _ in mounts):
            lines.append("cp -a /etc etc")  # Something is laid where the machine has no such place.
        elif Path("/", part).is_dir():
            lines += [f"mkdir {part}", f"mount --rbind -o ro /{part} {part}"]
    lines += [f"mkdir -p {TRAINING}", f"ln -s /usr/bin/python3 {TRAINING}/python"]
    lines += ["mount --rbind /dev dev", "mount -t proc none proc"]
    closing: list[str] = []
    for source, target, is_writable in mounts:
        where = shlex.quote(target.lstrip("/"))
        if target == "/dev/shm":
            continue  # The machine's own, which is one for all.
        made = f"mkdir -p {where}" if source.is_dir() else f"test -e {where} || touch {where}"
        lines += [made, f"mount --bind {shlex.quote(str(source))} {where}"]
        closing += [] if is_writable else [f"mount -o remount,ro,bind {where}"]
    lines += closing  # Last, for kubelets make the place for a folder in a folder.
    user, container = pod["spec"]["securityContext"], pod["spec"]["containers"][0]
    words = [
        "chroot",
        ".",
        "/usr/bin/setpriv",
        f"--reuid={user['runAsUser']}",
        f"--regid={user['runAsGroup']}",
    ]
    words += [
        "--clear-groups",
        "--no-new-privs",
        "--bounding-set=-all",
        "--inh-caps=-all",
        *command,
    ]
    lines.append("exec " + shlex.join(words))
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"} | variables_of(pod, container)
    environment |= {"NVIDIA_VISIBLE_DEVICES": gpus} if gpus else {}
    outside = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "/bin/sh", "-c", "\n".join(lines)]
    with root.with_name(f"{root.name}.log").open("wb") as log:
        return subprocess.Popen(outside, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)


def variables_of(pod: KubernetesObject, container: KubernetesObject) -> dict[str, str]:
    index = (pod["metadata"].get("labels") or {}).get("batch.kubernetes.io/job-completion-index")
    known = {"JOB_COMPLETION_INDEX": index} if index is not None else {}
    for each in container.get("env") or ():
        if "value" in each or "valueFrom" not in each:
            known[each["name"]] = each.get("value", "")
        elif each["valueFrom"].get("fieldRef", {}).get("fieldPath") == "spec.nodeName":
            known[each["name"]] = pod["spec"]["nodeName"]
    return known
