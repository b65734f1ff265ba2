"""People: who acts, what they may do, passwords, and failed sign-ins."""
