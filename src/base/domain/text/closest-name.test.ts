import assert from "node:assert/strict";
import { test } from "node:test";
import { closestName } from "./closest-name.ts";

test("finds the intended name, and none if no name is near", () => {
  const names = ["hone-tiny", "SmolLM2-135M-Instruct", "qwen3", "games/spelling"];
  const check = (typed: string, expected: string | null): void => {
    assert.equal(closestName(typed, names), expected, typed);
  };
  check("hone-tyni", "hone-tiny");
  check("honetiny", "hone-tiny");
  check("HONE-TINY", "hone-tiny");
  check("smollm2-135m-instruct", "SmolLM2-135M-Instruct");
  check("qwen2", "qwen3");
  check("game/speling", "games/spelling");
  check("gpt-4o", null);
  check("x", null);
  check("", null);
  check("a".repeat(100_000), null);
});
