"""English for git sources of trainings, by code."""

SENTENCES = {
    "git.address_unusable": (
        "This is no address of a repository. Write it as https://host/group/name.git or git@host:group/name.git."
    ),
    "git.address_scheme": "Code is fetched by {schemes:list} alone. Use the address of one of these kinds.",
    "git.address_has_secret": (
        "The address contains a name or a password, which pages and logs would show. Write the address without it, "
        "and enter the token in its own field."
    ),
    "git.reference_unusable": (
        "“{reference}” is no name of a branch or tag. Copy it from the repository, or leave the field empty for the "
        "default branch."
    ),
    "git.token_needs_https": "A token works with an https address. Use that one, or a deploy key.",
    "git.key_needs_ssh": (
        "A deploy key works with an ssh address such as git@host:group/name.git. Use that one, or a token."
    ),
    "git.ssh_needs_key": "ssh needs a deploy key. Choose one, or use the https address of a public repository.",
    "git.token_missing": "Enter the token: the one that is there is for its own repository alone.",
    "git.token_unusable": "A token is one word of at most 1,000 characters. Copy it again.",
    "git.user_name_unusable": "This is no user name. Leave it empty if the server's help names none.",
    "git.key_unusable": (
        "This is no private key without a passphrase that ssh can use. Paste all of it with its first and last line, "
        "or leave the field empty: a key is made here then."
    ),
    "git.no_source": "{name} has no git source yet. Enter the address of a repository.",
    "git.being_fetched": "Code for {name} is being fetched already. Wait for its end.",
    "git.host_unknown": "No name server knows the host {host}. Check the address.",
    "git.host_not_allowed": (
        "{host} leads to this machine or into the cluster's own network, from which nothing is fetched. Use another "
        "server, or ask an administrator to name this host in GROUNDCREW_GIT_HOSTS."
    ),
    "git.redirected": (
        "The server sends git on to another address, which is not followed. Open the address in a browser and enter "
        "the one to which it leads, often with .git at its end."
    ),
    "git.host_key_changed": (
        "The server's key is not the one of the first fetch: somebody may listen. Ask who runs the server; if the key "
        "was changed on purpose, save the source again to accept it."
    ),
    "git.not_authorised": (
        "The server did not let us read the repository. Check that the token is valid, or that the public key shown "
        "here is a deploy key there, with read access."
    ),
    "git.repository_missing": (
        "The server has no such repository, or hides it. Check the address, and that the token or key may read it."
    ),
    "git.repository_empty": "The repository has no commit yet. Push one, then pull again.",
    "git.reference_missing": (
        "The repository has no branch, tag or commit “{reference}”. Check its name; the server must offer a commit to "
        "be fetched alone."
    ),
    "git.certificate": (
        "The server's certificate cannot be verified. Check the address; a site's own authority has to be among those "
        "that the master trusts."
    ),
    "git.unreachable": "{host} does not answer. Check the address, and pull again later.",
    "git.too_slow": "{host} took too long. Pull again later, or fetch a smaller repository.",
    "git.too_large": (
        "The commit is too large to be fetched. Keep data in a dataset, or fetch from a repository that "
        "holds only code."
    ),
    "git.unsafe_repository": (
        "The repository has entries that no git should accept, or is damaged. Have it checked there by git fsck."
    ),
    "git.submodule": (
        "“{path}” is a submodule, and none is fetched. Put its files into the repository, or choose a "
        "folder without it."
    ),
    "git.link": (
        "“{path}” is a link to “{target}”, which is no file of the fetched folder. Put the file itself in its place."
    ),
    "git.large_file": (
        "“{path}” is kept by Git LFS, from which nothing is fetched. Put it into a dataset and remove "
        "it from the folder."
    ),
    "git.name_unreadable": "The name “{file}” is not UTF-8. Rename the file.",
    "git.folder_missing": "This commit has no folder “{folder}”. Check its name, also capital letters.",
    "git.failed": "git ended with: {line}",
    "git.missing": "git is not installed on the master. Ask an administrator to install the Debian package git.",
    "git.too_old": "The master has git {found}; {needed} or newer is needed. Ask an administrator to upgrade it.",
    "git.credential_unreadable": (
        "The token or key can no longer be opened, because the installation's secret has changed. Enter it again."
    ),
    "not_found.git_source": "There is no git source, or you may not see it.",
}

TITLES = {"git": "The code was not fetched"}

WORDS = {
    "operation.code.fetch": "Fetch code from git",
    "step.ask_server": "Ask the git server",
    "step.fetch_commit": "Fetch the commit",
    "action.training.git_source_set": "Git source set",
    "action.training.git_source_removed": "Git source removed",
    "action.training.code_fetch_requested": "Code fetched from git",
}
