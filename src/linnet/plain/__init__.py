"""The algorithms of a first course as short, complete NumPy programs: each file can be read by itself.

| file | what it is |
|---|---|
"""
