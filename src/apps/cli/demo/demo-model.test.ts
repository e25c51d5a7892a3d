import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { demoModel } from "./demo-model.ts";
import { taskOf } from "./tasks/tasks.ts";

const here = fileURLToPath(import.meta.url);

test("chooses the task `words` for the built-in model, and `sentiment` for other models", () => {
  assert.deepEqual(demoModel("hone-tiny", []), { baseModel: "hone-tiny", serverFlags: {}, task: "words" });
  const name = "demo-model.test.js";
  assert.deepEqual(demoModel(here, []), {
    baseModel: name,
    serverFlags: { model: `${name}=${here}`, "built-in-model": "off" },
    task: "sentiment",
  });
  assert.deepEqual(demoModel("org/model", null), {
    baseModel: "org/model",
    serverFlags: {},
    task: "sentiment",
  });
});

test("finds an added model by name or by source", () => {
  const added = [{ name: "SmolLM2", source: "org/SmolLM2:Q4_1", path: "/data/models/a" }];
  const flags = { "built-in-model": "off" };
  assert.deepEqual(demoModel("SmolLM2", added).serverFlags, { model: "SmolLM2=/data/models/a", ...flags });
  assert.deepEqual(demoModel("org/SmolLM2:Q4_1", added).serverFlags, {
    model: "SmolLM2-Q4_1=/data/models/a",
    ...flags,
  });
});

test("refuses unknown models, tasks and words, and lists the valid ones", () => {
  assert.throws(
    () => demoModel("no/such/model", []),
    /"no\/such\/model": no such folder, file or added model/,
  );
  assert.throws(
    () => taskOf("chess", "maybe"),
    /--task is "chess"; it must be one of words, sentiment, steps/,
  );
  assert.throws(() => taskOf("words", "perhaps"), /--teach is "perhaps"; it must be one of yes, no, maybe/);
  assert.equal(taskOf("sentiment", "maybe").name, "sentiment");
});
