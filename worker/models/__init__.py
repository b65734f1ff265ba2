"""The built-in models, as jobs run them: copied beside `groundcrew_job` and started with `python -m`.

Nothing of the platform imports this package, and it imports nothing of the platform: it runs in the
training environment (TensorFlow, Horovod, Pillow), as the user who started the job.
What variables a model has is described once, in `cluster/domain/built_in_models.py`.
"""
