"""What becomes of a program before it is nodes: digests, parts, equations by way of others."""
