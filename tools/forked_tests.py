"""For tools/mutants.py: run tests in forks of a process that has imported what takes long.

A line of the input is a list: seconds, then the words of the command line of pytest.  The answer
is the exit status, or null if it took longer.  Nothing of ours is imported before the fork.
"""

import json
import os
import signal
import sys
import time

import hypothesis
import numpy
import pytest
import scipy.optimize
import scipy.sparse.csgraph
import scipy.stats

IMPORTED = (hypothesis, numpy, scipy)
QUIET = ["-x", "-q", "-rN", "--tb=no", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
QUIET += ["-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"]

for line in sys.stdin:
    limit, *words = json.loads(line)
    start, child, done, status = time.monotonic(), os.fork(), 0, 0
    if not child:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        os._exit(int(pytest.main([*QUIET, *words])))
    while not done and time.monotonic() - start < limit:
        time.sleep(0.02)
        done, status = os.waitpid(child, os.WNOHANG)
    if not done:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
    print(json.dumps(os.waitstatus_to_exitcode(status) if done else None), flush=True)
