"""The SSH door to running jobs: who may enter, the access log, and the state of the door."""
