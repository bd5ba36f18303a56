"""What becomes of a program before it is nodes: a digest, parts of it, equations by way of others."""
