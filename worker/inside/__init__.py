"""What runs inside a job, beside the user's program; standard library only, and it parses as Python 3.6."""
