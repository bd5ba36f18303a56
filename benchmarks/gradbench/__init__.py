"""A tool that speaks the protocol of GradBench, its check, and its figures.

The evals are plain NumPy code, differentiated by this package. `python -m benchmarks.gradbench`
answers on stdin and stdout, `python -m benchmarks.gradbench --check` holds every function against
independent references.
"""
