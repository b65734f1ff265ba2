"""The verbs: check, write the row and its audit entry, ring the bell."""
