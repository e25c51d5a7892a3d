// Tests of the references to answers, which depend on the model's name.
import assert from "node:assert/strict";
import { test } from "node:test";
import { answerOf } from "./references.ts";

test("refers to an answer in its model's project, or for a base model, in a project named after it", () => {
  const of = (model: string) => answerOf(model, "chatcmpl-1", "acme").reference;
  assert.equal(of("team/games/bot:step3"), "hone:///team/games/call/1");
  assert.equal(of("wandb-artifact:///team/games/bot"), "hone:///team/games/call/1");
  assert.equal(of("games/bot"), "hone:///acme/games/call/1");
  assert.equal(of("hone-tiny"), "hone:///acme/hone-tiny/call/1");
});

test("identifies a completion by the id of its request, as Hone's recordings do", () => {
  assert.equal(
    answerOf("team/support/helper:step2", "chatcmpl-0a1b", "team").reference,
    "hone:///team/support/call/0a1b",
  );
});
