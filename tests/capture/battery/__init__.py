"""Python as it is written, held to the same program run by plain NumPy.

`running` runs one program in one way and judges it; `sequences` does so for a program and the
changes between its calls. The programs themselves stand in the files `programs_*` and
`sequences_*`, by theme. `python -m tests.capture.battery` prints what comes out.
"""
