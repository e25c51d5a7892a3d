import assert from "node:assert/strict";
import { test } from "node:test";
import { readAliases } from "./model-aliases.ts";

test("an alias stands for a model, and the longest alias that matches is used", () => {
  const modelOf = readAliases([
    "gpt-*=small",
    " o4-mini = p/judge:latest",
    "gpt-4.1-nano-2025-04-14=tiny",
    "*=any",
  ]);
  const table = [
    ["gpt-4.1-nano-2025-04-14", "tiny"],
    ["gpt-4.1-nano", "small"],
    ["o4-mini", "p/judge:latest"],
    ["o4-mini-2025-04-16", "any"],
    ["gpt-x:step2", null],
  ] as const;
  for (const [name, model] of table) assert.equal(modelOf(name), model, name);
  assert.equal(readAliases(["gpt-*=small"])("o3"), null);
});

test("refuses an alias without a model, and a star that is not at the end", () => {
  for (const text of ["gpt", "=tiny", "gpt=", "g*t=tiny"])
    assert.throws(() => readAliases([text]), {
      code: "invalid",
      message: /cannot be read; write alias=model/,
    });
});
