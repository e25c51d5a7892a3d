import assert from "node:assert/strict";
import { test } from "node:test";
import type { FastifyReply } from "fastify";
import { nameIgnored } from "./read-input.ts";

/** The headers that are set for these names. */
function check(names: readonly string[], expected: readonly string[]): void {
  const headers: string[] = [];
  // Of a reply, this needs what sets a header alone.
  nameIgnored(
    { header: (name: string, value: string) => headers.push(`${name}: ${value}`) } as unknown as FastifyReply,
    names,
  );
  assert.deepEqual(headers, expected);
}

test("names what nothing read, as a header can hold it, and as many as a header has room for", () => {
  const names = Array.from({ length: 33 }, (_, index) => `field${index}`);
  check([], []);
  check(["a.b", "x y\n", "z".repeat(81)], [`x-hone-ignored: a.b, x?y?, ${"z".repeat(80)}`]);
  check(names.slice(0, 32), [`x-hone-ignored: ${names.slice(0, 32).join(", ")}`]);
  check(names, [`x-hone-ignored: ${names.slice(0, 32).join(", ")}, ...`]);
});
