"""`python -m adjoint` is the command `adjoint`."""

from adjoint.cli import main

if __name__ == "__main__":
    main()
