"""Records the state of a host, to compare it before and after."""

from tests.hosts.machines.testbed import Host

PASSING = (
    "grep -v -E '/(apt|dpkg|dbus|timers|journal)/|-$|ld.so.cache|/[.]ansible|/[.]sudo_as_admin_successful$"
    "|/ucf/(registry|hashfile)[.][0-9]$'"
)
"""What every installation of a package writes anew, copies of what was before, Ansible's own folder, and what the
administrator's first sign-in leaves: a journal, and sudo's mark. ucf, by which packages look after their configuration,
keeps its last lists under a number."""
OF_SESSIONS = "grep -v -E '^(user@|apt-daily|systemd-(hostnamed|timedated|localed))'"
COMMANDS = {
    "packages": "dpkg-query -W -f '${db:Status-Status} ${Package}\\n'",
    "automatic": "apt-mark showauto",
    "accounts": "cut -d: -f1 /etc/passwd /etc/group",
    "units": "systemctl list-unit-files --no-legend --plain | grep -v -E 'transient|generated'",
    "running": (
        f"systemctl list-units --type=service --state=running --no-legend --plain | cut -d' ' -f1 | {OF_SESSIONS}"
    ),
    "files": f"find /etc /opt /usr/local /root /home /srv /var/lib /var/log /var/spool -xdev | {PASSING}",
    "firewall": "iptables-save 2>/dev/null | grep -v ^#; nft list ruleset 2>/dev/null",
    "hosts": "cat /etc/hosts",
}


def found(host: Host) -> dict[str, list[str]]:
    return {what: sorted(host.run(command).stdout.splitlines()) for what, command in COMMANDS.items()}


def differences(before: dict[str, list[str]], after: dict[str, list[str]]) -> dict[str, list[str]]:
    """What came (+) and what went (-), by kind; empty where the host is as it was."""
    lines = {
        what: [f"+{line}" for line in sorted(set(after[what]) - set(before[what]))]
        + [f"-{line}" for line in sorted(set(before[what]) - set(after[what]))]
        for what in before
    }
    return {what: each for what, each in lines.items() if each}
