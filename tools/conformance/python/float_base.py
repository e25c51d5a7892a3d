"""Copies a model folder with its weights in float32: `float_base.py <source> <target>`.

What merging an adapter changes then has no rounding of sixteen bits to hide in, and whoever keeps adapters in the type that the
configuration names loses no small step.
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
