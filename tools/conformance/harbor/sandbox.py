"""A Harbor environment without containers, for a machine without Docker: a copy-on-write view of this machine's files.

Each trial gets an overlay of the root folder in its own mount and process namespaces, which end with the trial. Needs Linux, root
and util-linux. Ignores the task's Dockerfile, so a task can use only the programs of this machine.
"""

import asyncio
import shutil
import tempfile
from pathlib import Path

from harbor.environments.base import BaseEnvironment, ExecResult

# Mounts the overlay, and stays in it. All processes of the sandbox end with this process.
KEEP = """
set -e
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
mount --rbind /dev "$1/root/dev"
mount -t proc proc "$1/root/proc"
mount -t tmpfs tmpfs "$1/root/tmp"
mkdir -p "$1/root/app"
exec chroot "$1/root" sh -c "echo ready; exec sleep infinity"
"""


class Sandbox(BaseEnvironment):
    @staticmethod
    def type() -> str:
        return "sandbox"

    def _validate_definition(self) -> None:
        pass

    async def start(self, force_build: bool) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="harbor-sandbox-"))
        for name in ("upper", "work", "root"):
            (self._folder / name).mkdir()
        command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", KEEP, "keep", str(self._folder)]
        self._keeper = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        if await self._keeper.stdout.readline() != b"ready\n":
            raise RuntimeError("cannot make the sandbox: see the error of mount")
        [self._inside] = Path(f"/proc/{self._keeper.pid}/task/{self._keeper.pid}/children").read_text().split()
        await self.ensure_dirs(["/logs/agent", "/logs/verifier", "/logs/artifacts", "/tests"])

    async def stop(self, delete: bool) -> None:
        self._keeper.kill()
        await self._keeper.wait()
        shutil.rmtree(self._folder)

    async def exec(self, command, cwd=None, env=None, timeout_sec=None, user=None) -> ExecResult:
        enter = ["nsenter", "--target", self._inside, "--mount", "--pid", "--root", f"--wd={self._path(cwd or '/app')}"]
        variables = [f"{name}={value}" for name, value in (env or {}).items()]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *enter, "env", *variables, "bash", "-c", command, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe
        )
        try:
            out, err = await asyncio.wait_for(process.communicate(), timeout_sec)
        except TimeoutError:
            process.kill()
            raise
        return ExecResult(stdout=out.decode(errors="replace"), stderr=err.decode(errors="replace"), return_code=process.returncode)

    async def upload_file(self, source_path, target_path) -> None:
        self._path(target_path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source_path, self._path(target_path))

    async def upload_dir(self, source_dir, target_dir) -> None:
        shutil.copytree(source_dir, self._path(target_dir), dirs_exist_ok=True)

    async def download_file(self, source_path, target_path) -> None:
        shutil.copy(self._path(source_path), target_path)

    async def download_dir(self, source_dir, target_dir) -> None:
        shutil.copytree(self._path(source_dir), target_dir, dirs_exist_ok=True)

    def _path(self, inside) -> Path:
        """Returns the path of a file of the sandbox, as this process sees it."""
        return Path(f"/proc/{self._inside}/root{inside}")
