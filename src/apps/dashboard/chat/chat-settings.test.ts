import assert from "node:assert/strict";
import { test } from "node:test";
import { chatSettings, putChatSettings, usualModel } from "./chat-settings.ts";

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

test("asks the newest trained model, which comes after the base models", () => {
  const served = [
    { id: "tiny", parent: null },
    { id: "e/p/new", parent: "tiny" },
    { id: "e/p/old", parent: "tiny" },
  ];
  assert.equal(usualModel(served), "e/p/new");
  assert.equal(usualModel(served.slice(0, 1)), "tiny");
  assert.equal(usualModel([]), "");
});
