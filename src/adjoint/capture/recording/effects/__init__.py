"""What a function does besides giving a result: draws, text, warnings, errors, calls."""
