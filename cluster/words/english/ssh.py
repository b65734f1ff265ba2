"""English for SSH keys and for the SSH door to jobs, by code."""

SENTENCES = {
    "ssh_key.missing": "Paste the public key: the one line of the file whose name ends in .pub.",
    "ssh_key.private": (
        "This is a private key, and nothing of it was kept. It has left your machine now: make a new one with "
        "ssh-keygen, and paste the line of the file whose name ends in .pub."
    ),
    "ssh_key.too_long": "A public key is one line of at most {most:number} characters. Paste that line alone.",
    "ssh_key.several_lines": "Paste one key at a time: the one line of the file whose name ends in .pub.",
    "ssh_key.options": (
        "Text stands before the key. Options are not accepted here: paste the line from the kind of the key on, as "
        "ssh-keygen wrote it."
    ),
    "ssh_key.certificate": "This is a certificate. Paste the public key itself.",
    "ssh_key.unknown_kind": (
        "This is no public key that is accepted here. It begins with one of {kinds:list}. Make one with: "
        "ssh-keygen -t ed25519"
    ),
    "ssh_key.weak_kind": "Keys of the kind {kind} are too weak. Make a new one with: ssh-keygen -t ed25519",
    "ssh_key.damaged": "The key is incomplete or damaged. Copy the whole line of the file again.",
    "ssh_key.rsa_bits": (
        "This RSA key has {bits:number} bits, and {least:number} to {most:number} are accepted. Make a new one with: "
        "ssh-keygen -t ed25519"
    ),
    "ssh_key.own_twice": "You have this key already, as “{name}”.",
    "ssh_key.of_another_person": (
        "Another person uses this key. A key says who somebody is, so make one of your own with: ssh-keygen -t ed25519"
    ),
    "ssh_key.name_taken": "You have a key “{name}” already. Choose another name or remove that one.",
    "ssh_key.too_many": "You have {most} keys, and no more are possible. Remove one that you do not use.",
    "ssh.waits": "job-{job} waits and cannot be entered before it runs. Its page says when it starts.",
    "ssh.has_ended": "job-{job} has ended. Only a running job can be entered.",
    "ssh.not_ready": "job-{job} is starting. Try again in a moment.",
    "ssh.revoked": "The right to enter this job has ended, and the session with it.",
    "ssh.no_group": (
        "The processes of this job are in no group of their own on this machine, so nobody can join them."
    ),
    "ssh.no_sandbox": "This job has no view of the machine of its own here, so nobody can join it.",
    "ssh.failed": "The session could not be started in the job. An administrator finds the reason in the door's log.",
    "ssh.too_many": "Too many sessions are open. Close one, then connect again.",
    "ssh_door.not_running": (
        "No SSH door runs here, so jobs cannot be entered. It needs an installation that root has started."
    ),
    "ssh_door.switched_off": "The SSH door is switched off: GROUNDCREW_SSH_PORT is 0. An administrator can set a port.",
    "ssh_door.needs_root": (
        "The SSH door is closed: only root can let people into jobs. It opens once an administrator starts the "
        "installation as root."
    ),
    "ssh_door.executor": (
        "The SSH door is closed: it leads into jobs that run as processes, and here they run with {executor}. Files "
        "are downloaded on the job's page, and a notebook has a terminal."
    ),
    "ssh_door.folder": (
        "The SSH door is closed: others than root may change the folder {folder}. An administrator can choose another "
        "GROUNDCREW_SSH_DIR."
    ),
    "ssh_door.packages_missing": (
        "The SSH door is closed: this machine lacks {packages:list}. It opens by itself once an administrator has "
        "run: apt-get install openssh-server libnss-extrausers"
    ),
    "ssh_door.port_taken": (
        "The SSH door is closed: another program listens on port {port}. An administrator can set another "
        "GROUNDCREW_SSH_PORT."
    ),
    "ssh_door.cannot_start": (
        "The SSH door is closed: sshd does not start. An administrator finds its messages in the log of the service "
        "ssh."
    ),
    "not_found.ssh_key": "There is no such SSH key, or you may not see it.",
}

TITLES = {
    "ssh_key": "SSH key",
    "ssh": "SSH",
    "ssh_door": "The SSH door is closed",
}

WORDS = {
    "action.ssh_key.added": "SSH key added",
    "action.ssh_key.removed": "SSH key removed",
    "action.ssh.entered": "Job entered by SSH",
    "action.ssh.left": "SSH session ended",
}
