"""The manifests of one attempt, as pure functions of its run spec."""
