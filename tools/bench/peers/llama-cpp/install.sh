#!/bin/sh
# Installs llama.cpp from the Python package index, built for this machine: tools/bench/peers/llama-cpp/install.sh <folder>
#
# The folder becomes a virtual environment: <folder>/bin/python. PYTHON names another interpreter than python3. Needs a C++
# compiler; CMake comes with the build. Takes a few minutes.
#
# What the processor has is named one by one, since the build that looks for itself crashes on some virtual machines; AMX is
# left out. CMAKE_ARGS, where it is set, takes the place of that.
set -eu

folder=${1:?names the folder to install into}
here=$(cd "$(dirname "$0")" && pwd)

# As Linux calls it, and as llama.cpp does.
flags=-DGGML_NATIVE=OFF
for pair in avx:AVX avx2:AVX2 f16c:F16C fma:FMA bmi2:BMI2 avx512f:AVX512 avx512_vnni:AVX512_VNNI avx512vbmi:AVX512_VBMI \
  avx512_bf16:AVX512_BF16; do
  if grep -qw "${pair%%:*}" /proc/cpuinfo; then flags="$flags -DGGML_${pair##*:}=ON"; fi
done

"${PYTHON:-python3}" -m venv "$folder"
CMAKE_ARGS=${CMAKE_ARGS:-$flags} "$folder/bin/python" -m pip install -q -r "$here/requirements.txt"
"$folder/bin/python" -c 'import llama_cpp; print(llama_cpp.__version__, llama_cpp.llama_print_system_info().decode())'
