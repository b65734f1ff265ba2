"""The embedded installation: all services on one machine under supervisord, made by `make up`."""
