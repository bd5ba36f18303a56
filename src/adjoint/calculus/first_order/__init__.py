"""First derivatives: linear maps, gradients, linearisations, transposes, and coordinates."""
