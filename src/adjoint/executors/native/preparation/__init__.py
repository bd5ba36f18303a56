"""What becomes of a program before it is nodes: its digest, its parts, equations by way of others."""
