"""Programs that the door installs for sshd and starts for each session: standard library only."""
