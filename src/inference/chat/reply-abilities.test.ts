// Tests that a model's reply abilities are detected from its template, and that the operator's settings override them.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { BaseModel } from "../../base/domain/model.ts";
import { loadChatTemplate } from "../chat-templates/load-chat-template.ts";
import { loadTokenizer } from "../../lib/tokenizer/tokenizer.ts";
import {
  withMarkIds,
  readReplyAbilities,
  refuseUnknownModels,
  type ReplyAbilities,
} from "./reply-abilities.ts";
import { callFormats } from "./tools/call-formats.ts";

async function abilities(
  folder: string,
  settings: { readonly toolCalls?: readonly string[]; readonly reasoning?: readonly string[] } = {},
  model: Pick<BaseModel, "name" | "toolCalls"> = { name: "m" },
): Promise<ReplyAbilities> {
  const [template, tokenizer] = await Promise.all([loadChatTemplate(folder), loadTokenizer(folder)]);
  return withMarkIds(
    readReplyAbilities(model, template, { toolCalls: [], reasoning: [], ...settings }),
    tokenizer,
  );
}

const folder = "test/fixtures/tool-model";

test("detects the calls and thoughts that the template writes, and keeps their mark tokens in the text", async () => {
  const { callFormat, thinks, markIds } = await abilities(folder);
  assert.equal(callFormat, callFormats.hermes);
  assert.equal(thinks, true);
  assert.deepEqual([...markIds], [3, 4, 5, 6]);
});

test("detects no thoughts in the built-in model, and tool calls only if set", async () => {
  const builtIn = { name: "m", toolCalls: "off" } as const;
  const { callFormat, thinks, markIds } = await abilities("models/hone-tiny", {}, builtIn);
  assert.deepEqual([callFormat, thinks, markIds.size], [null, false, 0]);
  for (const value of ["auto", "hermes"]) {
    const asked = await abilities("models/hone-tiny", { toolCalls: [`m=${value}`] }, builtIn);
    assert.equal(asked.callFormat, callFormats.hermes);
  }
});

test("applies the last of the operator's settings for this model", async () => {
  const other = await abilities(folder, { toolCalls: ["x=off"], reasoning: ["x=off"] });
  assert.deepEqual([other.callFormat, other.thinks], [callFormats.hermes, true]);
  const off = await abilities(folder, { toolCalls: ["m=llama3", "m=off"], reasoning: ["m=off"] });
  assert.deepEqual([off.callFormat, off.thinks, off.markIds.size], [null, false, 0]);
  const on = await abilities("models/hone-tiny", { toolCalls: ["m=mistral-named"], reasoning: ["m=on"] });
  assert.deepEqual([on.callFormat, on.thinks], [callFormats["mistral-named"], true]);
});

test("reports the reason for the format of calls and thoughts", async () => {
  const reasons = async (...given: Parameters<typeof abilities>): Promise<readonly string[]> =>
    Object.values((await abilities(...given)).reasons);
  assert.deepEqual(await reasons(folder), [
    "its chat template writes calls in this format",
    "its chat template mentions </think>",
  ]);
  assert.deepEqual(await reasons(folder, { toolCalls: ["m=llama3"], reasoning: ["m=off"] }), [
    "set by chat.toolCalls",
    "set by chat.reasoning",
  ]);
  assert.equal(
    (await reasons(folder, { toolCalls: ["m=generic"] }))[0],
    "set by chat.toolCalls, and tools are shown in the system message",
  );
  assert.deepEqual(await reasons("models/hone-tiny", {}, { name: "m", toolCalls: "off" }), [
    "by default for this model; chat.toolCalls changes it",
    "its chat template does not mention </think>",
  ]);
  assert.deepEqual(
    (await reasons("test/fixtures/goldens/models/qwen3"))[0],
    "its chat template writes no calls, or none in a known format",
  );
});

test("refuses a setting for a model that is not served", () => {
  refuseUnknownModels(["a", "b=c"], { toolCalls: ["b=c=off"], reasoning: ["a=on"] });
  assert.throws(() => refuseUnknownModels(["a", "b"], { toolCalls: [], reasoning: ["a=on", "c=on"] }), {
    code: "invalid",
    message: 'chat.reasoning has "c=on", but the base models are a, b.',
  });
});

test("names an invalid setting when refusing it", async () => {
  const refused = { name: "ServiceError", code: "invalid" };
  for (const item of ["hermes", "m=xml", "=off", "m="])
    await assert.rejects(abilities(folder, { toolCalls: [item] }), {
      ...refused,
      message: `chat.toolCalls has "${item}"; it must be model=value with a value of auto, off, ${Object.keys(callFormats).join(", ")}.`,
    });
  await assert.rejects(abilities(folder, { reasoning: ["m=hermes"] }), {
    ...refused,
    message: /^chat\.reasoning has/,
  });
});
