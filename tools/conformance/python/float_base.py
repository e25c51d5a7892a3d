"""Copies a model folder with its weights in float32: `float_base.py <source> <target>`.

With float32, rounding to sixteen bits does not hide the changes of a merged adapter, and trainers that store adapters in the
configured type do not lose small steps.
"""

import json
import shutil
import sys
from pathlib import Path

from safetensors.torch import load_file, save_file

source, target = (Path(word) for word in sys.argv[1:])
shutil.copytree(source, target)
weights = {name: weight.float() for name, weight in load_file(source / "model.safetensors").items()}
config = json.loads((source / "config.json").read_text())
(target / "config.json").write_text(json.dumps(config | {"torch_dtype": "float32"}, indent=2))
save_file(weights, target / "model.safetensors", metadata={"format": "pt"})
