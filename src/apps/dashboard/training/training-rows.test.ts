import assert from "node:assert/strict";
import { test } from "node:test";
import { readRows, shownMessages } from "./training-rows.ts";

test("reads conversations, and reports the lines that cannot be trained on", () => {
  const conversation = {
    messages: [
      { role: "user", content: "Hi" },
      { role: "assistant", content: "Ho" },
    ],
  };
  const lines = [
    JSON.stringify(conversation),
    "",
    "{",
    "[1]",
    '{"messages":[{"role":"user","content":"x"}]}',
  ];
  const { rows, faults } = readRows(lines.join("\n"), "sft");
  assert.deepEqual(rows, [conversation]);
  assert.deepEqual(faults, [
    "Line 3: not a JSON object.",
    "Line 4: not a JSON object.",
    "Line 5: it has no messages of an assistant to train on.",
  ]);
  assert.equal(readRows("{\n".repeat(50), "sft").faults.length, 10);
  assert.deepEqual(shownMessages(conversation, "sft"), [
    { role: "user", text: "Hi", isTrained: false },
    { role: "assistant", text: "Ho", isTrained: true },
  ]);
});

test("reads preferences with texts or messages", () => {
  const row = { prompt: [{ role: "user", content: "Hi" }], chosen: "Ho", rejected: "No" };
  const { rows, faults } = readRows(`${JSON.stringify(row)}\n{"chosen":"x"}`, "preference");
  assert.deepEqual([rows, faults], [[row], ["Line 2: it has no prompt."]]);
  assert.deepEqual(
    shownMessages(row, "preference").map(({ role, text, isTrained }) => [role, text, isTrained]),
    [
      ["prompt", "Hi", false],
      ["chosen", "Ho", true],
      ["rejected", "No", true],
    ],
  );
});
