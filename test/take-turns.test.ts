// Tests the lock that makes several set-ups of the same checkout run one at a time.
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

interface Ended {
  readonly status: number | null;
  readonly said: string;
}

/** A process that waits for its turn and then runs `work`. */
class Turn {
  readonly process: ChildProcess;
  readonly ended: Promise<Ended>;
  #said = "";

  constructor(folder: string, work: string, deadlineMs = 60_000) {
    const options = `{ deadlineMs: ${deadlineMs}, onWait: (holder) => console.log("waits for " + holder) }`;
    const program = `import { takeTurns } from "./scripts/take-turns.js";
      import { appendFileSync } from "node:fs";
      const log = (word) => appendFileSync("${folder}/log", process.pid + " " + word + "\\n");
      const pause = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
      takeTurns("${folder}/made/lock", () => { console.log("begun"); ${work} }, ${options});`;
    this.process = spawn(process.execPath, ["--input-type=module", "-e", program]);
    this.ended = new Promise((resolve) =>
      this.process.once("close", (status) => resolve({ status, said: this.#said })),
    );
    for (const stream of [this.process.stdout, this.process.stderr])
      stream?.on("data", (data: Buffer) => (this.#said += data.toString()));
  }

  /** Resolves once the process has printed these words; fails if it ends without them. */
  async says(words: string): Promise<void> {
    const ended = this.ended.then(() => assert.ok(this.#said.includes(words), this.#said));
    while (!this.#said.includes(words))
      await Promise.race([ended, new Promise((resolve) => this.process.stdout?.once("data", resolve))]);
  }
}

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "hone-turns-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

test("processes that begin at the same time work one at a time, and leave nothing behind", async (t) => {
  const folder = newFolder(t);
  const turns = Array.from({ length: 4 }, () => new Turn(folder, `log("begins"); pause(50); log("ends");`));
  for (const { ended } of turns) assert.equal((await ended).status, 0);
  const lines = readFileSync(join(folder, "log"), "utf8").trim().split("\n");
  assert.equal(lines.length, 8);
  for (let index = 0; index < 8; index += 2) {
    const [id] = lines[index].split(" ");
    assert.deepEqual(lines.slice(index, index + 2), [`${id} begins`, `${id} ends`]);
  }
  assert.deepEqual(readdirSync(join(folder, "made")), []);
});

test("a waiting process names the holder, and continues when the holder is killed", async (t) => {
  const folder = newFolder(t);
  const holder = new Turn(folder, "pause(60_000);");
  await holder.says("begun");
  const waiting = new Turn(folder, "");
  await waiting.says(`waits for process ${holder.process.pid}`);
  holder.process.kill("SIGKILL");
  assert.equal((await waiting.ended).status, 0);
  assert.deepEqual(readdirSync(join(folder, "made")), []);
});

test("a wait ends at its deadline with a suggestion, and work that throws releases the lock", async (t) => {
  const folder = newFolder(t);
  const holder = new Turn(folder, "pause(60_000);");
  await holder.says("begun");
  const late = await new Turn(folder, "", 0).ended;
  assert.equal(late.status, 1);
  assert.match(
    late.said,
    new RegExp(`process ${holder.process.pid} has not finished .* remove ${folder}/made/lock`),
  );
  holder.process.kill("SIGKILL");
  await holder.ended;
  const failing = await new Turn(folder, `throw new Error("no compiler");`).ended;
  assert.match(failing.said, /no compiler/);
  assert.deepEqual(readdirSync(join(folder, "made")), []);
});

test("waits for a holder on another machine, since nobody here knows whether it still runs", async (t) => {
  const folder = newFolder(t);
  mkdirSync(join(folder, "made", "lock"), { recursive: true });
  const record = { id: process.pid, host: `not ${hostname()}` };
  writeFileSync(join(folder, "made", "lock", "a"), JSON.stringify(record));
  const { said } = await new Turn(folder, "", 0).ended;
  assert.match(said, new RegExp(`process ${process.pid} on not `));
});
