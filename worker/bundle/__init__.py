"""The offline bundle: all that site.yml installs, in one folder that is collected, verified and compared here."""
