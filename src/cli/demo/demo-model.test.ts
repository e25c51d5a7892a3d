import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { demoModel } from "./demo-model.ts";
import { taskOf } from "./tasks/tasks.ts";

const here = fileURLToPath(import.meta.url);

test("the built-in model practises words, and every other one sentiment", () => {
  assert.deepEqual(demoModel("hone-tiny", false), { baseModel: "hone-tiny", serverFlags: {}, task: "words" });
  const name = "demo-model.test.js";
  assert.deepEqual(demoModel(here, false), {
    baseModel: name,
    serverFlags: { model: `${name}=${here}`, "built-in-model": "off" },
    task: "sentiment",
  });
  assert.deepEqual(demoModel("org/model", true), {
    baseModel: "org/model",
    serverFlags: {},
    task: "sentiment",
  });
});

test("refuses what is neither there nor known, and says what could be", () => {
  assert.throws(() => demoModel("no/such/model", false), /"no\/such\/model", and there is no such folder/);
  assert.throws(() => taskOf("chess", "maybe"), /--task is "chess"; it must be one of words, sentiment/);
  assert.throws(() => taskOf("words", "perhaps"), /--teach is "perhaps"; it must be one of yes, no, maybe/);
  assert.equal(taskOf("sentiment", "maybe").name, "sentiment");
});
