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
    "not_found.ssh_key": "There is no such SSH key, or you may not see it.",
}

TITLES = {
    "ssh_key": "SSH key",
}

WORDS = {
    "action.ssh_key.added": "SSH key added",
    "action.ssh_key.removed": "SSH key removed",
}
