"""What the calculus is given: arguments, tangents and cotangents, and their spaces."""
