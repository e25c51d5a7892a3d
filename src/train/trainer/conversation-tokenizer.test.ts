// Tests, with a real tokenizer and template, that a conversation without token ids is trained on the same tokens as one
// with token ids.
import assert from "node:assert/strict";
import { test } from "node:test";
import { trajectoryOf } from "../../../test/golden-trajectories.ts";
import type { JsonObject } from "../../base/domain/text/json.ts";
import type { HistoryItem, Trajectory } from "../../base/domain/trajectory.ts";
import { loadChatTemplate } from "../../inference/chat-templates/load-chat-template.ts";
import { loadTokenizer } from "../../lib/tokenizer/tokenizer.ts";
import { type TokenSequence, trajectorySequences } from "../trajectories/sequences.ts";
import { createConversationTokenizer } from "./conversation-tokenizer.ts";

const folder = "test/fixtures/goldens/models/llama";
const tokenizer = await loadTokenizer(folder);
const conversation = createConversationTokenizer(tokenizer, await loadChatTemplate(folder), 512);

interface Turn {
  readonly user: string;
  readonly answer: string;
}

const turns: readonly Turn[] = [
  { user: "Hello, who are you?", answer: "A tiny model." },
  { user: "Say é and 你好", answer: "é and 你好!" },
];

type Kept = "everything" | "named tokens" | "token texts";

/** Returns the trajectory that a client would send if it kept only some fields of each response's choice. */
function recorded(kept: Kept): Trajectory {
  const items: JsonObject[] = [];
  for (const { user, answer } of turns) {
    items.push({ role: "user", content: user });
    items.push(choiceOf(answer, items, kept));
  }
  const empty = trajectoryOf({ token_ids: [], assistant_mask: [], old_logprobs: [], group: 0, reward: 0 });
  return { ...empty, messagesAndChoices: items as unknown as readonly HistoryItem[] };
}

function choiceOf(answer: string, before: readonly JsonObject[], kept: Kept): JsonObject {
  const ids = conversation.encode(`${answer}<|im_end|>`);
  const content = ids.map((id, index) => ({
    token: kept === "token texts" ? tokenizer.tokenText(id) : `token_id:${id}`,
    bytes: [...tokenizer.tokenBytes(id)],
    logprob: -index,
    top_logprobs: [],
  }));
  const messages = before.map((item) => (item["message"] as JsonObject | undefined) ?? item);
  const exact = { prompt_token_ids: conversation.renderPrompt(messages, null, {}), token_ids: ids };
  return {
    finish_reason: "stop",
    index: 0,
    message: { role: "assistant", content: answer },
    logprobs: { content },
    ...(kept === "everything" ? exact : {}),
  };
}

function sequencesOf(kept: Kept): readonly TokenSequence[] {
  const { sequences, untrained } = trajectorySequences(recorded(kept), conversation);
  assert.deepEqual(untrained, []);
  for (const { isRendered } of sequences) assert.equal(isRendered, kept !== "everything");
  return sequences.map(({ sequence }) => sequence);
}

test("rendering restores what a client library dropped", () => {
  const exact = sequencesOf("everything");
  const trained = exact.flatMap(({ tokenIds, mask }) =>
    [...tokenIds].filter((_, index) => mask[index] === 1),
  );
  const text = tokenizer.decode(trained, { skipSpecialTokens: false });
  assert.equal(text, turns.map(({ answer }) => `${answer}<|im_end|>`).join(""));
  assert.deepEqual(sequencesOf("named tokens"), exact);
  assert.deepEqual(sequencesOf("token texts"), exact);
});

test("a token's text finds its id by its bytes, also for partial characters", () => {
  const ids = conversation.encode("é你<|im_end|> the");
  for (const id of ids) {
    const bytes = [...tokenizer.tokenBytes(id)];
    assert.equal(conversation.idOfToken(tokenizer.tokenText(id), bytes), id);
  }
  assert.equal(conversation.idOfToken("<|im_end|>", null), conversation.encode("<|im_end|>")[0]);
  assert.equal(conversation.idOfToken("no such token in so small a vocabulary", null), null);
});
