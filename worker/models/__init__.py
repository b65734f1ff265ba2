"""The built-in models. They are copied beside `groundcrew_job`, and jobs start them with `python -m`.

The platform does not import this package, and the package does not import the platform: it runs in the training
environment (TensorFlow, Horovod, Pillow), as the user who submitted the job. `cluster/domain/built_in_models.py`
describes the variables of each model.
"""
