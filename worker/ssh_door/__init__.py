"""The SSH door: Debian's sshd, at which people sign in with their keys, and the process that lets them into jobs."""
