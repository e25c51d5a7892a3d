"""Copies a model folder with its weights in float32: `float_base.py <source> <target>`.

What merging an adapter changes then has no rounding of sixteen bits to hide in.
"""

import shutil
import sys
from pathlib import Path

from safetensors.torch import load_file, save_file

source, target = (Path(word) for word in sys.argv[1:])
shutil.copytree(source, target)
weights = {name: weight.float() for name, weight in load_file(source / "model.safetensors").items()}
save_file(weights, target / "model.safetensors", metadata={"format": "pt"})
