"""What earlier processes have made, kept on disk: machine code, and derived programs."""
