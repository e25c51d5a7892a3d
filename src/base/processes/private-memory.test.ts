// Tests that the memory which a process allocates counts as its private memory.
import assert from "node:assert/strict";
import { test } from "node:test";
import { privateBytes } from "./private-memory.ts";

test("counts memory that a process fills as private, and no more than is resident", () => {
  const before = privateBytes();
  const filled = Buffer.alloc(64 << 20, 1);
  const grown = privateBytes() - before;
  assert.ok(grown >= 0.9 * filled.length, `${grown} bytes more`);
  assert.ok(privateBytes() <= process.memoryUsage.rss());
});
