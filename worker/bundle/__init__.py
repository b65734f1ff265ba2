"""The offline bundle: collected on a machine that reaches its sources, verified, compared, installed from."""
