"""Where the chunks of a pass over rows are done: threads, a cluster of Dask's, processes of MPI."""

from adjoint.calculus.rows.engines.engine import Engine, engine_in_force

__all__ = ["Engine", "engine_in_force"]
