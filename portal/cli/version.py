"""The version of the command, which is that of the installation it comes from."""

VERSION = "0.1.0"
