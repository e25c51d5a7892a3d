import assert from "node:assert/strict";
import { test } from "node:test";
import { chatSettings, offeredNames, putChatSettings, usualModel } from "./chat-settings.ts";

test("reads back the settings that were written", () => {
  const settings = {
    ...chatSettings(new URLSearchParams(), "tiny"),
    models: ["a/b/c:step3", "tiny"],
    system: "Be brief.",
    temperature: "",
    stop: "END\nSTOP",
    schema: "{}",
    showsTokens: true,
  };
  const query = new URLSearchParams("left=x&other=1");
  putChatSettings(query, settings);
  assert.deepEqual(chatSettings(new URLSearchParams(query.toString()), "other"), settings);
  assert.deepEqual([query.get("left"), query.get("other"), query.get("seed")], [null, "1", null]);
});

test("uses the given model if the address names none, and the two models of older addresses", () => {
  assert.deepEqual(chatSettings(new URLSearchParams(), "tiny").models, ["tiny"]);
  assert.deepEqual(chatSettings(new URLSearchParams("left=a&right=b"), "tiny").models, ["a", "b"]);
  assert.equal(chatSettings(new URLSearchParams("m=1&m=2&m=3&m=4&m=5"), "tiny").models.length, 4);
});

test("of 10,000 models, a field offers the newest hundred with the typed text", () => {
  const served = Array.from({ length: 10_000 }, (_, index) => `p/model-${index}`);
  assert.equal(offeredNames(served, "").length, 100);
  assert.deepEqual(offeredNames(served, "model-999").at(-1), "p/model-9999");
  assert.deepEqual(offeredNames(served, "model-1234"), ["p/model-1234"]);
});

test("asks the newest model by its name without a version", () => {
  assert.equal(usualModel(["tiny", "e/p/a", "e/p/a:step1", "e/p/a:step2"]), "e/p/a");
  assert.equal(usualModel(["tiny"]), "tiny");
  assert.equal(usualModel([]), "");
});
