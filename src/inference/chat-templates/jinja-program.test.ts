// Tests the limits under which a template runs.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Clock } from "../../base/domain/clock.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { compileJinja, type ProgramLimits } from "./jinja-program.ts";

/** Returns a clock that advances by a millisecond at each reading. */
function passingClock(): Clock {
  let elapsedMs = 0;
  return { now: () => new Date(0), monotonicMs: () => elapsedMs++, sleep: () => Promise.resolve() };
}

const named = (message: string) => () => new ServiceError({ code: "unsupported", message });
const limits: ProgramLimits = {
  timeMs: 1000,
  onTimeUp: named("time up"),
  lengthMax: 100,
  onTooLong: named("too long"),
};

function run(source: string, changes: Partial<ProgramLimits> = {}): string {
  return compileJinja(source, passingClock()).run({}, { ...limits, ...changes });
}

test("ends a run once its time is up, and not before", () => {
  const loop = (count: number): string => `{% for i in range(${count}) %}{% set x = i %}{% endfor %}done`;
  assert.equal(run(loop(100), { lengthMax: 100_000 }), "done");
  assert.throws(() => run(loop(100_000), { lengthMax: 100_000 }), { message: "time up" });
  assert.throws(() => run(loop(100), { timeMs: 1, lengthMax: 100_000 }), { message: "time up" });
});

test("limits the size of each text and list, shown or not", () => {
  const text = (length: number): string => `{{ "${"x".repeat(length)}" }}`;
  assert.equal(run(text(100)).length, 100);
  assert.throws(() => run(text(101)), { message: "too long" });
  assert.throws(() => run(text(60) + text(60)), { message: "too long" });
  assert.equal(run("{% set x = range(100) %}"), "");
  assert.throws(() => run("{% set x = range(99) | list + range(2) | list %}"), { message: "too long" });
});

test("limits range() to as many numbers as Python's sandbox", () => {
  assert.equal(run("{{ range(100000) | length }}", { lengthMax: 100_000 }), "100000");
  assert.throws(() => run("{{ range(1, 100002) | length }}", { lengthMax: 1e9 }), {
    code: "unsupported",
    message: /range\(\) of 100001 numbers is too long; it may have 100000/,
  });
});
