// Tests of standard error as a pipe, a socket, a terminal and a file, with and without a process that reads it.
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("./testing/chatty-program.js", import.meta.url));
/** These lines have about 1.5 MiB, which is more than the buffers of the process and the kernel can hold together. */
const manyLines = 6000;

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "hone-streams-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** Returns the number of dropped lines, which the program wrote to this file when it ended. */
const droppedCountIn = (aliveFile: string): number => Number(readFileSync(aliveFile, "utf8"));

interface Line {
  readonly msg: string;
  readonly number?: number;
  readonly count?: number;
}

function linesOf(text: string): readonly Line[] {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
}

test("does not block a program or its end on an unread pipe", { skip: noFifos() }, async (t) => {
  const folder = newFolder(t);
  const [fifo, alive] = [join(folder, "fifo"), join(folder, "alive")];
  execFileSync("mkfifo", [fifo]);
  const reader = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(fifo, constants.O_WRONLY);
  t.after(() => [reader, writer].forEach((descriptor) => closeSync(descriptor)));
  const child = spawn(process.execPath, [program, alive, String(manyLines)], {
    stdio: ["ignore", writer, writer],
  });
  assert.deepEqual(await once(child, "exit"), [0, null]);
  assert.ok(droppedCountIn(alive) > 0);
});

test("does not block a program or its end on an unread socket", async (t) => {
  const alive = join(newFolder(t), "alive");
  // Node connects the outputs of child processes to sockets, not to pipes.
  const child = spawn(process.execPath, [program, alive, String(manyLines)], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  assert.deepEqual(await once(child, "exit"), [0, null]);
  assert.ok(droppedCountIn(alive) > 0);
  child.stderr.destroy();
});

const python = spawnSync("python3", ["--version"]).status === 0;
const noTerminals = process.platform === "win32" || !python ? "needs python3 for a terminal" : false;

test("does not block a program or its end on a stopped terminal", { skip: noTerminals }, (t) => {
  const alive = join(newFolder(t), "alive");
  // In this program, no process reads the other end of the terminal.
  const inTerminal = `
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0: os.execv(sys.argv[1], sys.argv[1:])
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))`;
  const { status } = spawnSync(
    "python3",
    ["-c", inTerminal, process.execPath, program, alive, String(manyLines)],
    { timeout: 60_000 },
  );
  assert.equal(status, 0);
  assert.ok(droppedCountIn(alive) > 0);
});

test("writes every line to a file in order", (t) => {
  const folder = newFolder(t);
  const [file, alive] = [join(folder, "log"), join(folder, "alive")];
  const descriptor = openSync(file, "w");
  const { status } = spawnSync(process.execPath, [program, alive, "1000"], {
    stdio: ["ignore", descriptor, descriptor],
  });
  closeSync(descriptor);
  assert.equal(status, 0);
  const numbers = linesOf(readFileSync(file, "utf8")).map(({ number }) => number);
  assert.deepEqual(
    numbers,
    Array.from({ length: 1000 }, (_, number) => number),
  );
});

test("announces the only gap to a reader that returns", async (t) => {
  const alive = join(newFolder(t), "alive");
  // This test reads everything, so the flush ends long before its limit, also on a loaded machine.
  const child = spawn(process.execPath, [program, alive, String(manyLines), "60000"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let text = "";
  child.stderr.setEncoding("utf8").on("data", (part: string) => (text += part));
  assert.deepEqual(await once(child, "close"), [0, null]);
  const lines = linesOf(text);
  const missing = lines.reduce((sum, { count = 0 }) => sum + count, 0);
  assert.equal(missing, droppedCountIn(alive));
  let next = 0;
  for (const { msg, number, count } of lines) {
    if (msg === "line") assert.equal(number, next);
    next += count ?? 1;
  }
  assert.equal(next, manyLines, "each line is there or counted where it would be");
});

function noFifos(): string | false {
  return process.platform === "win32" ? "Windows has no FIFOs" : false;
}
