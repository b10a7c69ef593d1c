"""Write the case files: `python -m tests.golden.oracles [module]`."""

import importlib
import json
import pkgutil
import sys

from tests.golden import oracles
from tests.golden.runner import CASES

CASES.mkdir(exist_ok=True)
for found in pkgutil.iter_modules(oracles.__path__):
    if found.name != "__main__" and (len(sys.argv) < 2 or found.name in sys.argv[1:]):
        for stem, content in importlib.import_module(f"{oracles.__name__}.{found.name}").files().items():
            (CASES / f"{stem}.json").write_text(json.dumps(content) + "\n")
            print(f"{stem}: {len(content['cases'])} cases")
