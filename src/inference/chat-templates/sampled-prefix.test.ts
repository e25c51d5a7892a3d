import assert from "node:assert/strict";
import { test } from "node:test";
import type { MessageRecord } from "../../base/domain/trajectory.ts";
import { plainConversation } from "../../base/domain/chat.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { continueTurn } from "./continue-turn.ts";
import { RenderLimitError } from "./prompt-faults.ts";
import { continueFromSampled, removeSampled } from "./render-prompt.ts";

const texts = ["a", "b", "ab", "<end>", " "];

/**
 * A tokenizer that takes the longest match first. So `ab` becomes one token, although a model may also sample it as
 * two.
 */
const tokenizer = {
  vocabularySize: texts.length,
  encode: (text: string): number[] => {
    const ids: number[] = [];
    for (let rest = text; rest !== "";) {
      const [id] = texts
        .map((_, index) => index)
        .filter((index) => rest.startsWith(texts[index]))
        .toSorted((one, other) => texts[other].length - texts[one].length);
      ids.push(id);
      rest = rest.slice(texts[id].length);
    }
    return ids;
  },
  decode: (ids: readonly number[]): string => ids.map((id) => texts[id]).join(""),
};

test("begins a prompt with sampled tokens if they are its text, and tokenizes the rest", () => {
  assert.deepEqual(continueFromSampled(tokenizer, "ab<end>ab", [0, 1, 3]), [0, 1, 3, 2]);
  assert.deepEqual(tokenizer.encode("ab<end>ab"), [2, 3, 2]);
});

test("tokenizes normally a prompt with another text, no further text, or invalid ids", () => {
  assert.equal(continueFromSampled(tokenizer, "ba<end>ab", [0, 1, 3]), null);
  assert.equal(continueFromSampled(tokenizer, "ab<end>", [0, 1, 3]), null);
  assert.equal(continueFromSampled(tokenizer, "ab<end>ab", [0, 9]), null);
  const blankFirst = { ...tokenizer, encode: (text: string) => [4, ...tokenizer.encode(text)] };
  assert.equal(continueFromSampled(blankFirst, "ab<end>ab", [0, 1, 3]), null);
});

test("a template that reaches a limit is no reason to tokenize an answer again, but one that refuses is", () => {
  const messages = ["a", "b", "a"].map((content, index) => ({
    role: index === 1 ? "assistant" : "user",
    content,
  }));
  const conversation = { ...plainConversation, messages };
  const turn = { messageIndex: 1, tokenIds: [0, 1], reasoning: "" };
  const continued = (error: Error) => () =>
    continueTurn(tokenizer, { text: "ab<end>a", conversation }, turn, () => {
      throw error;
    });
  const message = "The template has not rendered in time.";
  assert.throws(continued(new RenderLimitError({ code: "unsupported", message })), { message });
  assert.equal(continued(new ServiceError({ code: "unsupported", message }))(), null);
});

test("uses the last answer with its tokens and its prompt's, and hides the tokens from templates", () => {
  const answer = (ids: unknown, prompt: unknown): MessageRecord =>
    ({ role: "assistant", content: "x", token_ids: ids, prompt_token_ids: prompt }) as MessageRecord;
  const user: MessageRecord = { role: "user", content: "y" };
  const given = [user, answer([1], [0]), user, answer([3], [0, 1, 2]), user, answer(null, null), user];
  const { messages, sampled } = removeSampled(given);
  assert.deepEqual(sampled, [0, 1, 2, 3]);
  assert.deepEqual(messages[1], { role: "assistant", content: "x" });
  assert.equal(messages[0], user);
  for (const wrong of [
    answer([1], null),
    answer([], [1]),
    answer(["1"], [1]),
    { ...answer([1], [1]), role: "user" },
  ])
    assert.equal(removeSampled([wrong]).sampled, null);
});
