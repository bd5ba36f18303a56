"""Floor 10: the commands `adjoint check`, `explain`, `bench`, `show` and `wine`."""
