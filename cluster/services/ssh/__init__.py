"""The SSH door to running jobs: who may enter, the access log, and how the door stands."""
