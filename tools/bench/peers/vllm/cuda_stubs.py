"""Libraries in the place of CUDA's, so that PyTorch's build for CUDA loads without them: `cuda_stubs.py <site-packages>`.

On a machine without a graphics processor none of them is called, but the loader wants every name that PyTorch's own
libraries ask for, in the version they ask for. Each name becomes a function that fails, in a library where they look for
it. Needs gcc and readelf.
"""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

CUDA_LIBRARY = re.compile(
    r"lib(cublas|cublasLt|cuda|cudart|cudnn|cufft|cufile|cupti|curand|cusolver|cusparse|cusparseLt|nccl|nvJitLink|nvrtc|nvshmem_host)\.so"
)
# What cudaErrorNoDevice is.
NO_DEVICE = 100
# The few that are called all the same, to find that there is no device.
CALLED = {
    "cudaGetDeviceCount": f"int cudaGetDeviceCount(int *count) {{ *count = 0; return {NO_DEVICE}; }}",
    "cudaGetLastError": "int cudaGetLastError(void) { return 0; }",
    "cudaPeekAtLastError": "int cudaPeekAtLastError(void) { return 0; }",
    "cudaDriverGetVersion": "int cudaDriverGetVersion(int *version) { *version = 0; return 0; }",
    "cudaRuntimeGetVersion": "int cudaRuntimeGetVersion(int *version) { *version = 13000; return 0; }",
    "__cudaRegisterFatBinary": "void **__cudaRegisterFatBinary(void *binary) { static void *handle; return &handle; }",
}


def readelf(file: Path, *flags: str) -> list[str]:
    return subprocess.run(["readelf", "-W", *flags, file], capture_output=True, text=True, check=True).stdout.splitlines()


def symbols(file: Path) -> list[tuple[str, str, str, bool]]:
    """Of each dynamic symbol the name, the version ("" without one), the binding, and whether the file itself has it."""
    found = []
    for line in readelf(file, "--dyn-syms"):
        # "12: 0000000000000000 0 FUNC GLOBAL DEFAULT UND cudaFree@libcudart.so.13 (4)"
        if match := re.match(r"\s*\d+:\s+[0-9a-f]+\s+\S+\s+\S+\s+(\S+)\s+\S+\s+(\S+)\s+([^\s@]+)(?:@+(\S+))?", line):
            binding, section, name, version = match.groups(default="")
            found.append((name, version, binding, section != "UND"))
    return found


def asked_libraries(file: Path) -> tuple[set[str], dict[str, str]]:
    """The libraries of CUDA that a file needs, and which of them each version of a symbol belongs to."""
    needed = {match[1] for line in readelf(file, "-d") if (match := re.search(r"\(NEEDED\).*\[(.*)\]", line))}
    owners, owner = {}, ""
    for line in readelf(file, "-V"):
        if match := re.search(r"File: (\S+)", line):
            owner = match[1]
        elif match := re.search(r"Name: (\S+)\s+Flags", line):
            owners[match[1]] = owner
    return {name for name in needed if CUDA_LIBRARY.match(name)}, owners


def write_library(target: Path, versions: dict[str, set[str]]) -> None:
    """@param versions: names by version; "" are those without one"""
    names = sorted(set().union(*versions.values()))
    # A text, where one is asked for, has to be one.
    text = re.compile(r"String$|ErrorName$")
    source = [
        CALLED.get(name) or (f'const char *{name}(void) {{ return "no device"; }}' if text.search(name) else f"int {name}(void) {{ return {NO_DEVICE}; }}")
        for name in names
    ]
    script = [f"{version} {{ global: {'; '.join(sorted(members))}; }};" for version, members in sorted(versions.items()) if version]
    code, version_script = target.with_suffix(".c"), target.with_suffix(".map")
    code.write_text("\n".join(source) + "\n")
    version_script.write_text("\n".join(script) + "\n")
    versioned = [f"-Wl,--version-script={version_script}"] if script else []
    subprocess.run(["gcc", "-shared", "-fPIC", "-w", f"-Wl,-soname,{target.name}", *versioned, "-o", target, code], check=True)
    code.unlink()
    version_script.unlink()


def main() -> None:
    packages = Path(sys.argv[1])
    files = [file for file in (packages / "torch" / "lib").iterdir() if ".so" in file.name]
    libraries: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    owners: dict[str, str] = {}
    for file in files:
        needed, owned = asked_libraries(file)
        owners |= owned
        for name in needed | {name for name in owned.values() if CUDA_LIBRARY.match(name)}:
            libraries[name]
    found = [symbol for file in files for symbol in symbols(file)]
    defined = {name for name, _, _, is_own in found if is_own}
    for name, version, binding, is_own in found:
        if is_own:
            continue
        if version and CUDA_LIBRARY.match(owner := owners.get(version, "")):
            libraries[owner][version].add(name)
        elif not version and binding != "WEAK" and name not in defined and not name.startswith("_Z"):
            # Any of them may have it, since the loader looks through all; names of C++ are PyTorch's own.
            libraries[min(libraries)][""].add(name)
    # Where the libraries of PyTorch's wheel look.
    folder = packages / "nvidia" / "cu13" / "lib"
    folder.mkdir(parents=True, exist_ok=True)
    for name, versions in libraries.items():
        write_library(folder / name, versions)


if __name__ == "__main__":
    main()
