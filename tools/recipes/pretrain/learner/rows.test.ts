import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { plainConversation } from "../../../../src/base/domain/chat.ts";
import { seededRandom } from "../../../../src/base/domain/random.ts";
import type { JsonObject } from "../../../../src/base/domain/text/json.ts";
import type { MessageRecord } from "../../../../src/base/domain/trajectory.ts";
import { loadChatTemplate } from "../../../../src/inference/chat-templates/load-chat-template.ts";
import { loadTokenizer } from "../../../../src/lib/tokenizer/tokenizer.ts";
import { renderPrompt } from "../../../../src/inference/chat-templates/render-prompt.ts";
import { drawChat } from "../corpus/chats.ts";
import { schemaOf } from "../corpus/tools/tool.ts";
import { writeConfiguration } from "../model/folder.ts";
import { drawBatch, encodeChat } from "./rows.ts";
import { buildTokenizer, countPieces } from "../model/vocabulary.ts";

const folder = mkdtempSync(join(tmpdir(), "hone-rows-"));
after(() => rmSync(folder, { recursive: true }));
const mixture = { factors: new Map(), toolChats: 0.3 };
const sample = Array.from({ length: 500 }, (_, index) => drawChat(seededRandom("rows", index), mixture));
writeConfiguration(folder);
writeFileSync(join(folder, "tokenizer.json"), JSON.stringify(buildTokenizer(countPieces(sample), 600)));
const tokenizer = await loadTokenizer(folder);
const template = await loadChatTemplate(folder);

/** Returns the message as a client sends it: tool calls are separate from the content. */
function assistantMessage(answer: string): MessageRecord {
  const call = /^<tool_call>\n(.*)\n<\/tool_call>$/.exec(answer)?.[1];
  if (call === undefined) return { role: "assistant", content: answer };
  return {
    role: "assistant",
    content: null,
    tool_calls: [{ type: "function", function: JSON.parse(call) as JsonObject }],
  };
}

test("training uses exactly the tokens that the chat template produces", () => {
  for (const chat of sample.slice(0, 100)) {
    const messages = [
      ...(chat.system === null ? [] : [{ role: "system", content: chat.system }]),
      ...chat.turns.flatMap(({ role, prompt, answer }) => [
        { role, content: prompt },
        assistantMessage(answer),
      ]),
    ];
    const tools = chat.tools.length === 0 ? null : chat.tools.map(schemaOf);
    const conversation = { ...plainConversation, messages, tools, addGenerationPrompt: false };
    const rendered = renderPrompt(tokenizer, template, conversation);
    assert.deepEqual(encodeChat(tokenizer, chat).tokens, [...rendered, 0]);
  }
});

test("every trained position of a batch predicts the next token of an answer", () => {
  const batch = drawBatch(tokenizer, seededRandom("rows", "batch"), { rowCount: 4, length: 160, mixture });
  assert.ok(batch.places_N.length > 40);
  for (const [index, place] of batch.places_N.entries()) {
    assert.equal(batch.tokens_BT[Number(place) + 1], batch.targets_N[index]);
    assert.ok((Number(place) + 1) % 160 !== 0, "a target lies in the row of its place");
  }
  const ends = [...batch.targets_N].filter((token) => token === 2n).length;
  const turns = [...batch.tokens_BT].filter((token) => token === 2n).length;
  assert.ok(ends > 0 && ends < turns, "answers end, prompts are not learned");
});

test("text outside the vocabulary survives encoding and decoding", () => {
  for (const text of ["Grüße aus 東京 👍🏽", "  a  b\n\n c\t", 'don\'t 12345 {"a": [1, 2]}', "x"]) {
    const ids = tokenizer.encode(text, { addSpecialTokens: false });
    assert.equal(tokenizer.decode(ids, { skipSpecialTokens: false }), text);
  }
});
