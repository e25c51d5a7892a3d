// Tests which conversations are held out, and which turns count as equal.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { MessageRecord } from "../../base/domain/trajectory.ts";
import { samplePrompt } from "../../store/database/contract/completion-store.ts";
import { isHeldOut, turnHash } from "./conversation-key.ts";

test("holds out about the given share of conversations, by their first user message only", () => {
  const sides = Array.from({ length: 2000 }, (_, index) =>
    isHeldOut(samplePrompt("", `q ${index}`), "", 0.3),
  );
  const count = sides.filter((isHeld) => isHeld).length;
  assert.ok(count > 520 && count < 680, `${count} of 2000`);
  for (let index = 0; index < 100; index++) {
    const later = samplePrompt(`system ${index}`, `q ${index}`, "more", "and more");
    assert.equal(isHeldOut(later, `hash ${index}`, 0.3), sides[index]);
  }
  assert.equal(isHeldOut(samplePrompt("", "q"), "", 0), false);
  assert.equal(isHeldOut(samplePrompt("", "q"), "", 1), true);
});

test("decides by the hash of the tokens if a prompt has no text", () => {
  const tokens = { kind: "tokens", truncation: null, echo: false } as const;
  const sides = Array.from({ length: 200 }, (_, index) => isHeldOut(tokens, `hash ${index}`, 0.5));
  assert.deepEqual([sides.includes(true), sides.includes(false)], [true, true]);
});

test("finds equal turns although clients change ids, white space and the form of content", () => {
  const user = { role: "user", content: "Hi" };
  const call = (id: string) => ({ id, type: "function", function: { name: "f", arguments: "{}" } });
  const answer = { role: "assistant", content: " Ho ", tool_calls: [call("a")] };
  const repeated: readonly MessageRecord[] = [
    {
      role: "user",
      content: [
        { type: "text", text: "H" },
        { type: "text", text: "i" },
      ],
    },
    { role: "assistant", content: "Ho", tool_calls: [call("b")] },
  ];
  assert.equal(turnHash([user, answer]), turnHash(repeated));
  for (const other of [
    { ...answer, content: "No" },
    { ...answer, tool_calls: [] },
    { ...answer, role: "tool" },
  ])
    assert.notEqual(turnHash([user, answer]), turnHash([user, other]));
});
