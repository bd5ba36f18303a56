"""What becomes of a program before it is nodes: parts, equations by way of others."""
