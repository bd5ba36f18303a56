"""Floor 4, bytecode: what is known of CPython's instructions."""
