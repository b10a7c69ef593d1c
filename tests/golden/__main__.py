"""`python -m tests.golden [start of a file's name]`."""

import sys

from tests.golden.runner import main

sys.exit(main(*sys.argv[1:2]))
