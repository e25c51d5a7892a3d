// Contract tests that every prompt writer must pass: the token ids that it returns and the prompts that it refuses.
// They do not check durations.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import type { ChatPrompt, TextPrompt, TokenPrompt } from "../../../base/domain/chat.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { loadTokenizer } from "../../../lib/tokenizer/tokenizer.ts";
import type { JsonObject } from "../../../base/domain/text/json.ts";
import type { MessageRecord } from "../../../base/domain/trajectory.ts";
import { chatPrompt } from "../testing/chat-request.ts";
import type { PromptTask, PromptWriter, WrittenPrompt } from "../prompts/write-prompt.ts";

const root = "test/fixtures/goldens/models";

/** Returns a prompt task for a model with a vocabulary of 512 ids. */
export function promptTask(
  prompt: readonly MessageRecord[] | ChatPrompt,
  changes: Partial<PromptTask> & { readonly contextLength?: number; readonly keepLast?: number } = {},
): PromptTask {
  const { contextLength = 4096, keepLast = null, ...rest } = changes;
  return {
    prompt: isMessages(prompt) ? chatPrompt({ messages: prompt }) : prompt,
    fit: { purpose: "answer", contextLength, keepLast },
    wantsTexts: false,
    badWords: [],
    modelName: "tiny",
    vocabularySize: 512,
    ...rest,
  };
}

function isMessages(prompt: readonly MessageRecord[] | ChatPrompt): prompt is readonly MessageRecord[] {
  return Array.isArray(prompt);
}

function tokenPrompt(tokenIds: readonly number[]): TokenPrompt {
  return { kind: "tokens", tokenIds, truncation: null, echo: false };
}

export const userSays = (content: string): readonly MessageRecord[] => [{ role: "user", content }];

/** Names of the models whose prompts the reference implementation has written. */
export const recordedModels: readonly string[] = readdirSync(root);

/**
 * Registers the tests that a prompt writer must pass.
 *
 * @param make creates a prompt writer for the model in a folder
 * @param models models whose recorded prompts are compared
 */
export function checkPrompts(
  name: string,
  make: (folder: string) => Promise<PromptWriter>,
  models = recordedModels,
): void {
  const write = (prompts: PromptWriter, task: PromptTask): Promise<WrittenPrompt> =>
    prompts.write(task, { client: "c", signal: new AbortController().signal });

  for (const model of models) {
    test(`${name}: writes the same prompt as the reference implementation: ${model}`, async () => {
      const golden = JSON.parse(readFileSync(`${root}/${model}/golden.json`, "utf8")) as {
        readonly messages: readonly MessageRecord[];
        readonly rendered_ids: readonly number[];
      };
      const prompts = await make(`${root}/${model}`);
      const { tokenIds, badWordIds } = await write(prompts, promptTask(golden.messages));
      assert.deepEqual(tokenIds, golden.rendered_ids);
      assert.deepEqual(badWordIds, []);
    });
  }

  test(`${name}: gives a bad word's ids at the beginning of a text and after a blank`, async () => {
    const prompts = await make(`${root}/qwen3`);
    const { badWordIds } = await write(prompts, promptTask(userSays("hi"), { badWords: ["a", "zebra"] }));
    assert.ok(badWordIds.length >= 2 && badWordIds.every((ids) => ids.length > 0));
  });

  test(`${name}: refuses prompts that the template, the context or the vocabulary does not allow`, async () => {
    const prompts = await make(`${root}/qwen3`);
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

  test(`${name}: tokenizes a text verbatim, with special tokens on request`, async () => {
    const text = "<|im_start|>user\nHi";
    const options = { kind: "text", text, truncation: null, echo: false } as const;
    const prompts = await make(`${root}/qwen3`);
    const tokenizer = await loadTokenizer(`${root}/qwen3`);
    for (const addSpecialTokens of [false, true]) {
      const task = promptTask({ ...options, addSpecialTokens });
      const expected = tokenizer.encode(text, { addSpecialTokens });
      assert.deepEqual((await write(prompts, task)).tokenIds, expected);
    }
  });

  test(`${name}: uses token ids as the prompt`, async () => {
    const prompts = await make(`${root}/qwen3`);
    const { tokenIds, badWordIds } = await write(
      prompts,
      promptTask(tokenPrompt([5, 0, 511]), { badWords: ["a"] }),
    );
    assert.deepEqual(tokenIds, [5, 0, 511]);
    assert.ok(badWordIds.length > 0);
  });

  test(`${name}: applies context and vocabulary limits to texts and token ids too`, async () => {
    const prompts = await make(`${root}/qwen3`);
    const textPrompt = (text: string): TextPrompt => ({
      kind: "text",
      text,
      addSpecialTokens: true,
      truncation: null,
      echo: false,
    });
    const limits = { contextLength: 4, vocabularySize: 400 };
    const table: readonly (readonly [ChatPrompt, RegExp])[] = [
      [textPrompt("zzzz"), /maximum context length is 4 tokens.* has 4 input .* length of the prompt/],
      [textPrompt("z".repeat(100_000)), /has at least \d+ input tokens/],
      [textPrompt(""), /The prompt is empty/],
      [tokenPrompt([1, 2, 3, 4]), /maximum context length is 4 tokens.* has 4 input .* length of the prompt/],
      [tokenPrompt([]), /The prompt is empty/],
      [tokenPrompt([399, 400]), /The prompt cannot hold the token .* \(id 400\).* knows ids below 400/],
    ];
    for (const [prompt, message] of table) {
      await assert.rejects(write(prompts, promptTask(prompt, limits)), (error: unknown) => {
        assert.ok(error instanceof ServiceError && error.code === "unsupported");
        assert.match(error.message, message);
        const field = prompt.kind === "text" ? "text" : "tokenIds";
        assert.deepEqual(
          error.faults.map(({ location }) => location),
          [["prompt", field]],
        );
        return true;
      });
    }
    assert.deepEqual(
      (await write(prompts, promptTask(tokenPrompt([399, 1, 2]), limits))).tokenIds,
      [399, 1, 2],
    );
  });

  test(`${name}: uses a template of the request with the model's special tokens`, async () => {
    const prompts = await make(`${root}/qwen3`);
    const tokenizer = await loadTokenizer(`${root}/qwen3`);
    const template = "{{ messages[0].content }}{{ mine }}{{ eos_token }}{{ reasoning_effort }}";
    const conversation = { messages: userSays("Hi"), template, templateArguments: { mine: "!" } };
    const prompt = chatPrompt({ ...conversation, reasoningEffort: "low" });
    const expected = tokenizer.encode("Hi!<|im_end|>low", { addSpecialTokens: false });
    assert.deepEqual((await write(prompts, promptTask(prompt))).tokenIds, expected);
    const kept = promptTask(prompt, { keepLast: 3, contextLength: 4 });
    assert.deepEqual((await write(prompts, kept)).tokenIds, expected.slice(-3));
    for (const [source, message] of [
      [
        "{{ raise_exception('No, ' + messages[0].content) }}",
        /^The chat template refuses these messages: "No, Hi"$/,
      ],
      ["{% if %}", /The chat template has an error/],
      ["{{ messages[0].content[:0] }}", /empty prompt/],
    ] as const) {
      const wrong = promptTask(chatPrompt({ messages: userSays("Hi"), template: source }));
      await assert.rejects(write(prompts, wrong), { name: "ServiceError", code: "unsupported", message });
    }
    const empty = promptTask(chatPrompt({ messages: userSays("Hi"), template: "{{ messages.nothing }}" }));
    await assert.rejects(write(prompts, empty), ({ faults }: ServiceError) => {
      assert.deepEqual(faults[0]?.location, ["prompt", "template"]);
      return true;
    });
  });

  test(`${name}: keeps the last tokens of any prompt on request`, async () => {
    const prompts = await make(`${root}/qwen3`);
    const { tokenIds: all } = await write(prompts, promptTask(userSays("Hi there")));
    const kept = async (prompt: Parameters<typeof promptTask>[0], keepLast: number): Promise<unknown> =>
      (await write(prompts, promptTask(prompt, { keepLast, contextLength: all.length }))).tokenIds;
    assert.deepEqual(await kept(userSays("Hi there"), 4), all.slice(-4));
    assert.deepEqual(await kept(tokenPrompt(all), 1), all.slice(-1));
    assert.deepEqual(await kept(tokenPrompt([1, 2]), 5), [1, 2]);
    const message = /maximum context length is \d+ tokens/;
    await assert.rejects(kept(userSays("Hi there"), all.length), { code: "unsupported", message });
    const long = promptTask(userSays("z".repeat(10_000)), { keepLast: 2, contextLength: 3 });
    assert.equal((await write(prompts, long)).tokenIds.length, 2);
  });

  test(`${name}: counts empty prompts, and others up to the limit, and returns their tokens as spelled`, async () => {
    const prompts = await make(`${root}/qwen3`);
    const counted = async (text: string, countMax: number): Promise<WrittenPrompt> => {
      const fit = { purpose: "count", countMax } as const;
      const prompt = { kind: "text", text, addSpecialTokens: false, truncation: null, echo: false } as const;
      return write(prompts, promptTask(prompt, { fit, wantsTexts: true, vocabularySize: Infinity }));
    };
    assert.deepEqual(await counted("", 5), { tokenIds: [], texts: [], badWordIds: [] });
    const { tokenIds, texts } = await counted("zz z<|im_end|>é", 20);
    assert.equal(texts?.length, tokenIds.length);
    assert.deepEqual(
      [texts[0], texts.includes("<|im_end|>"), texts.join("").includes("Ġ")],
      ["z", true, true],
    );
    assert.equal((await counted("zzzz", 4)).tokenIds.length, 4);
    const message = /^This is 4 tokens; at most 3 are counted\. Send less text\.$/;
    await assert.rejects(counted("zzzz", 3), { code: "unsupported", message });
    await assert.rejects(counted("z".repeat(100_000), 64), { message: /^This is at least \d+ tokens/ });
  });

  test(`${name}: turns tokens back into text, special ones too`, async () => {
    const prompts = await make(`${root}/qwen3`);
    const options = { client: "c", signal: new AbortController().signal };
    const { tokenIds } = await write(prompts, promptTask(userSays("Héllo 😀")));
    const text = "<|im_start|>user\nHéllo 😀<|im_end|>\n<|im_start|>assistant\n";
    assert.equal(await prompts.read(tokenIds, options), text);
    const many = Array.from({ length: 20_000 }, () => tokenIds[0]);
    assert.equal((await prompts.read(many, options)).length, 20_000 * "<|im_start|>".length);
    assert.equal(await prompts.read([], options), "");
  });

  test(`${name}: cancels an aborted request`, async () => {
    const prompts = await make(`${root}/qwen3`);
    const options = { client: "c", signal: AbortSignal.abort() };
    await assert.rejects(prompts.write(promptTask(userSays("hi")), options), { code: "cancelled" });
    await assert.rejects(prompts.read([1], options), { code: "cancelled" });
  });
}
