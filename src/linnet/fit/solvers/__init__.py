"""Exact solvers of convex problems."""
