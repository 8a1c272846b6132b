"""Runs a program and ends without the interpreter's teardown.

The clients leave threads behind that abort the process there about one time in seven, after all work is done, over
every transport alike.
"""
import os, runpy, sys, traceback

sys.argv = sys.argv[1:]
status = 0
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except BaseException:
    traceback.print_exc()
    status = 1
sys.stdout.flush()
sys.stderr.flush()
os._exit(status)
