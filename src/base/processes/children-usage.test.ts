// Tests of the memory and processor time that child processes use.
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { childrenUsage } from "./children-usage.ts";

const skip = existsSync(`/proc/self/task/${process.pid}/children`)
  ? false
  : "the system does not list children";

test(
  "reports a child by its module, with memory and processor time, until it is gone",
  { skip },
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "hone-family-"));
    t.after(() => rmSync(folder, { recursive: true }));
    const module = join(folder, "hungry (child).mjs");
    writeFileSync(
      module,
      `const held = Buffer.alloc(64 << 20, 1);
     for (const end = process.cpuUsage().user + 200_000; process.cpuUsage().user < end; );
     process.send("full");
     process.on("message", () => process.exit(held.length === 0 ? 1 : 0));`,
    );
    const child = fork(module, [], { execArgv: [] });
    await new Promise((resolve) => child.once("message", resolve));
    const usage = childrenUsage().find(({ id }) => id === child.pid);
    assert.equal(usage?.module, "hungry (child)");
    assert.ok((usage?.memoryBytes ?? 0) >= 64 << 20);
    assert.ok((usage?.cpuSeconds ?? 0) >= 0.2);
    const gone = new Promise((resolve) => child.once("close", resolve));
    child.send("end");
    await gone;
    assert.ok(!childrenUsage().some(({ id }) => id === child.pid));
  },
);

test("reports the children of another process", { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "hone-family-"));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "grandchild.mjs"), "process.send(0); process.on('message', () => 0);");
  const module = join(folder, "child.mjs");
  writeFileSync(
    module,
    `import { fork } from "node:child_process";
     const grandchild = fork(new URL("grandchild.mjs", import.meta.url));
     grandchild.once("message", () => process.send(grandchild.pid));
     process.once("message", () => grandchild.disconnect());`,
  );
  const child = fork(module, [], { execArgv: [] });
  const grandchildId = await new Promise((resolve) => child.once("message", resolve));
  const usage = childrenUsage(child.pid);
  assert.deepEqual(
    usage.map(({ id, module: name }) => [id, name]),
    [[grandchildId, "grandchild"]],
  );
  const gone = new Promise((resolve) => child.once("close", resolve));
  child.send("end");
  await gone;
});
