// What a process takes is in what it has for itself.
import assert from "node:assert/strict";
import { test } from "node:test";
import { privateBytes } from "./private-memory.ts";

test("memory that a process fills is its own, and no more than is resident", () => {
  const before = privateBytes();
  const filled = Buffer.alloc(64 << 20, 1);
  const grown = privateBytes() - before;
  assert.ok(grown >= 0.9 * filled.length, `${grown} bytes more`);
  assert.ok(privateBytes() <= process.memoryUsage.rss());
});
