"""What becomes of a program before it is nodes: parts of it, and equations by way of others."""
