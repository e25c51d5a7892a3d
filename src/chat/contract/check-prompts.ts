// The contract of every prompt writer: which ids it gives, and what it refuses. Says nothing of time.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test, type TestContext } from "node:test";
import { plainConversation } from "../../domain/chat.ts";
import type { JsonObject, MessageRecord } from "../../domain/trajectory.ts";
import type { PromptTask, PromptWriter, WrittenPrompt } from "../prompts/write-prompt.ts";

const root = "test/fixtures/goldens/models";

/** A task for a model of 512 ids. */
export function promptTask(
  messages: readonly MessageRecord[],
  changes: Partial<PromptTask> = {},
): PromptTask {
  const conversation = { ...plainConversation, messages };
  const limits = { modelName: "tiny", contextLength: 4096, vocabularySize: 512 };
  return { conversation, badWords: [], ...limits, ...changes };
}

export const userSays = (content: string): readonly MessageRecord[] => [{ role: "user", content }];

/** Registers the tests that a prompt writer must pass; `make` gives one for the model in a folder. */
export function checkPrompts(
  name: string,
  make: (folder: string, context: TestContext) => Promise<PromptWriter>,
): void {
  const write = (prompts: PromptWriter, task: PromptTask): Promise<WrittenPrompt> =>
    prompts.write(task, { client: "c", signal: new AbortController().signal });

  for (const model of readdirSync(root)) {
    test(`${name}: a prompt is that of the reference implementation: ${model}`, async (context) => {
      const golden = JSON.parse(readFileSync(`${root}/${model}/golden.json`, "utf8")) as {
        readonly messages: readonly MessageRecord[];
        readonly rendered_ids: readonly number[];
      };
      const prompts = await make(`${root}/${model}`, context);
      const { tokenIds, badWordIds } = await write(prompts, promptTask(golden.messages));
      assert.deepEqual(tokenIds, golden.rendered_ids);
      assert.deepEqual(badWordIds, []);
    });
  }

  test(`${name}: a bad word has its ids as it begins a text and as it follows a blank`, async (context) => {
    const prompts = await make(`${root}/qwen3`, context);
    const { badWordIds } = await write(prompts, promptTask(userSays("hi"), { badWords: ["a", "zebra"] }));
    assert.ok(badWordIds.length >= 2 && badWordIds.every((ids) => ids.length > 0));
  });

  test(`${name}: refuses what the template, the context and the vocabulary do not allow`, async (context) => {
    const prompts = await make(`${root}/qwen3`, context);
    const refusal = async (task: PromptTask, words: RegExp): Promise<void> =>
      assert.rejects(write(prompts, task), { name: "ServiceError", code: "unsupported", message: words });
    const call: JsonObject = { type: "function", function: { name: "f", arguments: "{x" } };
    const broken = { role: "assistant", content: "", tool_calls: [call] };
    await refusal(promptTask([...userSays("a"), broken]), /tool call in the messages are not valid JSON/);
    const short = promptTask(userSays("z".repeat(200)), { contextLength: 64 });
    await refusal(short, /maximum context length is 64 tokens/);
    const { tokenIds } = await write(prompts, promptTask(userSays("hi")));
    const greatestId = Math.max(...tokenIds);
    const small = promptTask(userSays("hi"), { vocabularySize: greatestId });
    await refusal(
      small,
      new RegExp(`\\(id ${greatestId}\\); the model tiny knows ids below ${greatestId}\\.`),
    );
    const fitting = promptTask(userSays("hi"), { vocabularySize: greatestId + 1 });
    assert.deepEqual((await write(prompts, fitting)).tokenIds, tokenIds);
  });

  test(`${name}: an aborted request is cancelled`, async (context) => {
    const prompts = await make(`${root}/qwen3`, context);
    const options = { client: "c", signal: AbortSignal.abort() };
    await assert.rejects(prompts.write(promptTask(userSays("hi")), options), { code: "cancelled" });
  });
}
