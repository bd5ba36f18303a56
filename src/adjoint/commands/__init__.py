"""Floor 10: the commands `adjoint wine`, `adjoint check` and `adjoint show`."""
