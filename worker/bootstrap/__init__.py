"""The code that runs under the system's Python before any environment exists. It imports the standard library only."""
