"""What vendors' package repositories say, recorded, so that the installer's calls of apt are tried without hardware.

`tests/data/vendors/*.packages` are stanzas of `Packages`, each field with its source; `record.py` writes those of the
archives that can be asked.
"""
