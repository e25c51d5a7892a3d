// References of answers by their models' names.
import assert from "node:assert/strict";
import { test } from "node:test";
import { answerOf } from "./references.ts";

test("an answer belongs to its model's project, and to one of the base's name where there is none", () => {
  const of = (model: string) => answerOf(model, "chatcmpl-1", "acme").reference;
  assert.equal(of("team/games/bot:step3"), "hone:///team/games/call/chatcmpl-1");
  assert.equal(of("wandb-artifact:///team/games/bot"), "hone:///team/games/call/chatcmpl-1");
  assert.equal(of("games/bot"), "hone:///acme/games/call/chatcmpl-1");
  assert.equal(of("hone-tiny"), "hone:///acme/hone-tiny/call/chatcmpl-1");
});
