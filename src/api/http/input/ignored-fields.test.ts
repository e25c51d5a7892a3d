import assert from "node:assert/strict";
import { test } from "node:test";
import type { FastifyReply } from "fastify";
import { nameIgnored } from "./read-input.ts";

/** Checks the response headers that report the ignored fields. */
function check(names: readonly string[], expected: readonly string[]): void {
  const headers: string[] = [];
  // Safe cast: the tested function uses only `header`.
  nameIgnored(
    { header: (name: string, value: string) => headers.push(`${name}: ${value}`) } as unknown as FastifyReply,
    names,
  );
  assert.deepEqual(headers, expected);
}

test("reports ignored fields in a header, with unsafe characters replaced, and as many as fit", () => {
  const names = Array.from({ length: 33 }, (_, index) => `field${index}`);
  check([], []);
  check(["a.b", "x y\n", "z".repeat(81)], [`x-hone-ignored: a.b, x?y?, ${"z".repeat(80)}`]);
  check(names.slice(0, 32), [`x-hone-ignored: ${names.slice(0, 32).join(", ")}`]);
  check(names, [`x-hone-ignored: ${names.slice(0, 32).join(", ")}, ...`]);
});
