"""The programs that run inside a job beside the user's program; standard library only, Python 3.6 grammar."""
