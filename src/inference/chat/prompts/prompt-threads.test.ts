// Tests that hostile templates and texts do not affect other requests. The tests check the order of answers, never
// durations. Tasks that must still be running have limits that cannot expire during a test.
import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { searchedOf } from "../../../base/domain/testing/search.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { promptTask, userSays } from "../contract/check-prompts.ts";
import { chatPrompt } from "../testing/chat-request.ts";
import type { PromptLimits } from "./prompt-limits.ts";
import { createPromptThreads } from "./prompt-threads.ts";
import type { PromptTask, WrittenPrompt } from "./write-prompt.ts";

/**
 * A template that misbehaves if the first message names one of its branches, such as "endless". Any other first message
 * is rendered verbatim.
 */
const template = `
{%- set first = messages[0].content -%}
{%- if first == "endless" -%}
  {%- for i in range(100000) -%}{%- for j in range(100000) -%}{%- set k = i + j -%}{%- endfor -%}{%- endfor -%}
{%- elif first == "one endless filter" -%}
  {%- set shared = namespace(list=[1]) -%}
  {%- for i in range(60) -%}{%- set shared.list = [shared.list, shared.list] -%}{%- endfor -%}
  {{- shared.list | tojson -}}
{%- elif first == "growth" -%}
  {%- set shared = namespace(list=range(100000) | list) -%}
  {%- for i in range(60) -%}{%- set shared.list = shared.list + shared.list -%}{%- endfor -%}
{%- else -%}
  {{- first -}}
{%- endif -%}`;

/** Time limits far longer than any test. */
const unlimited = { renderMs: 60_000, encodeMs: 600_000, waitMs: 3_600_000 };

/** A single word that takes seconds to tokenize. */
const emojiWord = "😀🎉".repeat(200_000);

interface Running {
  readonly written: Promise<WrittenPrompt>;
  readonly isSettled: () => boolean;
  readonly abort: () => void;
}

/**
 * Returns prompt threads for a model with the template above, and functions that take the content of the first message.
 * The context is long enough for every prompt.
 */
function threadsFor(context: TestContext, changes: Partial<PromptLimits> = {}) {
  const folder = mkdtempSync(join(tmpdir(), "hone-prompts-"));
  for (const file of ["tokenizer.json", "tokenizer_config.json"])
    copyFileSync(join("test/fixtures/goldens/models/qwen3", file), join(folder, file));
  writeFileSync(join(folder, "chat_template.jinja"), template);
  const threads = createPromptThreads({ folder, toolsAsText: false }, { ...unlimited, ...changes });
  context.after(async () => {
    await threads.stop();
    rmSync(folder, { recursive: true });
  });
  const start = (content: string, task: Parameters<typeof promptTask>[1] = {}, client = "c"): Running => {
    const aborter = new AbortController();
    const options = { client, signal: aborter.signal };
    let isSettled = false;
    const written = threads
      .write(promptTask(userSays(content), { contextLength: 1e9, ...task }), options)
      .finally(() => (isSettled = true));
    written.catch(() => undefined);
    return { written, isSettled: () => isSettled, abort: () => aborter.abort() };
  };
  const write = (content: string): Promise<WrittenPrompt> => start(content).written;
  return { threads, start, write };
}

test("accepts token ids without a thread, and starts one only to explain a fault in them", async (context) => {
  const { threads } = threadsFor(context);
  await threads.stop();
  const write = (tokenIds: readonly number[]): Promise<WrittenPrompt> => {
    const prompt = { kind: "tokens", tokenIds, truncation: null, echo: false } as const;
    return threads.write(promptTask(prompt), { client: "c", signal: new AbortController().signal });
  };
  assert.deepEqual((await write([5, 511])).tokenIds, [5, 511]);
  await assert.rejects(write([5, 512]));
});

/** This prompt counts as large, but is tokenized quickly. */
const large = "some words ".repeat(2000);

for (const [name, content] of Object.entries({
  "a template that never ends": "endless",
  "a filter that never ends": "one endless filter",
  "a megabyte of emoji": emojiWord,
})) {
  test(`answers later small prompts before ${name}`, async (context) => {
    const { start, write } = threadsFor(context, unlimited);
    const hostile = start(content);
    for (const text of ["one", "two"]) assert.ok((await write(text)).tokenIds.length > 0);
    assert.ok(!hostile.isSettled());
    hostile.abort();
    await assert.rejects(hostile.written, { code: "cancelled" });
  });
}

test("refuses a template that exceeds its time limit, naming the limit and the cure, and writes the next prompt", async (context) => {
  const { write } = threadsFor(context, { renderMs: 200 });
  for (const content of ["endless", "one endless filter"]) {
    await assert.rejects(
      write(content),
      (error: Error & { readonly code?: string; readonly faults?: object }) => {
        assert.equal(error.code, "unsupported");
        assert.match(error.message, /not rendered these messages within 0\.2 s\. Send fewer/);
        return true;
      },
    );
    assert.ok((await write("small")).tokenIds.length > 0);
    assert.ok((await write(large)).tokenIds.length > 0);
  }
});

test("refuses a template whose values grow endlessly and writes the next prompt", async (context) => {
  const { write } = threadsFor(context);
  await assert.rejects(write("growth"), { code: "unsupported", message: /makes more than \d+ characters/ });
  assert.ok((await write(large)).tokenIds.length > 0);
});

test("refuses a text that exceeds the time limit of tokenization and writes the next prompt", async (context) => {
  const { write } = threadsFor(context, { encodeMs: 100 });
  await assert.rejects(write(emojiWord), { code: "unsupported", message: /tokenized within 0\.1 s/ });
  assert.ok((await write("small")).tokenIds.length > 0);
});

test("refuses a rendered text over the size limit before tokenizing it", async (context) => {
  const { write } = threadsFor(context, { renderedCharacters: 799_999, encodeMs: 1000 });
  const message = /makes more than 799999 characters or .*\. Send fewer/;
  await assert.rejects(write(emojiWord), { code: "unsupported", message });
});

test("refuses a text many times larger than the context before tokenizing it", async (context) => {
  const { start } = threadsFor(context, { encodeMs: 1000 });
  const message = /maximum context length is 1000 tokens/;
  await assert.rejects(start(emojiWord, { contextLength: 1000 }).written, { code: "unsupported", message });
});

test("refuses to truncate a very long text before tokenizing it", async (context) => {
  const { start } = threadsFor(context, { cutCharacters: 50_000 });
  const cut = { keepLast: 3, contextLength: 4 };
  assert.equal((await start("z".repeat(40_000), cut).written).tokenIds.length, 3);
  const message = /cannot be truncated: more than 50000 characters are too long for that\./;
  const expanding = templated("{% for i in range(60000) %}z{% endfor %}");
  for (const refused of [start("z".repeat(50_001), cut), start("", { ...cut, ...expanding })])
    await assert.rejects(refused.written, { code: "unsupported", message });
});

test("tokenizes many bad words separately from small prompts", async (context) => {
  const { start, write } = threadsFor(context);
  const hostile = start("hi", { badWords: [emojiWord] });
  assert.ok((await write("one")).tokenIds.length > 0);
  assert.ok(!hostile.isSettled());
});

test("takes large prompts of different clients in turns", async (context) => {
  const { start } = threadsFor(context);
  const order: string[] = [];
  const all = ["a", "a", "a", "b"].map((client, index) =>
    start(large, {}, client).written.then(() => order.push(`${client}${index}`)),
  );
  await Promise.all(all);
  assert.deepEqual(order, ["a0", "a1", "b3", "a2"]);
});

test("limits the number of waiting large prompts and the duration of their wait", async (context) => {
  const full = threadsFor(context, { waitingMax: 1 });
  const hostile = full.start(emojiWord);
  const waiting = full.start(large);
  const message = /1 of your requests already wait for this work, the maximum;/;
  await assert.rejects(full.write(large), { code: "overloaded", message });
  assert.equal(full.threads.waitingCount, 1);
  waiting.abort();
  await assert.rejects(waiting.written, { code: "cancelled" });
  assert.equal(full.threads.waitingCount, 0);
  assert.ok(!hostile.isSettled());

  const impatient = threadsFor(context, { waitMs: 10 });
  impatient.start(emojiWord);
  await assert.rejects(impatient.write(large), {
    code: "overloaded",
    message: /waited for 0\.01 s without being started/,
  });
});

/** Returns changes to a task: a conversation with its own template. */
const templated = (template: string): Partial<PromptTask> => ({
  prompt: chatPrompt({ messages: userSays("Hi"), template }),
});

const tooSlow = /not rendered these messages within 0\.3 s/;

/** Templates that never end or use too much memory, each with the limits that stop it, and the expected error. */
const hostileTemplates: Readonly<Record<string, readonly [source: string, Partial<PromptLimits>, RegExp]>> = {
  "a loop": [
    "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
    { renderMs: 300 },
    tooSlow,
  ],
  "one endless filter": [
    "{% set shared = namespace(list=[1]) %}{% for i in range(60) %}{% set shared.list = [shared.list, shared.list] %}{% endfor %}{{ shared.list | tojson }}",
    { renderMs: 300 },
    tooSlow,
  ],
  "deep nesting": [`{{ ${"[".repeat(100_000)}${"]".repeat(100_000)} }}`, {}, /nested too deeply/],
  "a recursion": ["{% macro f(x) %}{{ x(x) }}{% endmacro %}{{ f(f) }}", {}, /nested too deeply/],
  "endless growth": [
    "{% set shared = namespace(list=range(100000) | list) %}{% for i in range(60) %}{% set shared.list = shared.list + shared.list %}{% endfor %}",
    {},
    /makes more than \d+ characters or list items/,
  ],
  "more values than fit in memory": [
    "{% set shared = namespace(list=range(100000) | list, all=[]) %}{% for i in range(6) %}{% set shared.list = shared.list + shared.list %}{% endfor %}" +
      "{% for i in range(1000) %}{% set shared.all = shared.all + [shared.list + [i]] %}{% endfor %}",
    {},
    /needs more than 512 MiB of memory/,
  ],
  "a long source": ["x".repeat(262_145), {}, /262145 characters; at most 262144 are read/],
};

for (const [name, [source, changes, message]] of searchedOf(Object.entries(hostileTemplates), 3)) {
  test(`refuses a request's template at its field and renders the next: ${name}`, async (context) => {
    const { start } = threadsFor(context, changes);
    await assert.rejects(start("", templated(source)).written, (error: unknown) => {
      assert.ok(error instanceof ServiceError && error.code === "unsupported", String(error));
      assert.match(error.message, message);
      assert.deepEqual(
        error.faults.map(({ location }) => location),
        [["prompt", "template"]],
      );
      return true;
    });
    const { tokenIds } = await start("", templated("{{ messages[0].content }}")).written;
    assert.ok(tokenIds.length > 0);
  });
}

test("keeps serving small and large prompts while a request's template never ends", async (context) => {
  const { start, write } = threadsFor(context);
  const hostile = start("", templated(hostileTemplates["a loop"][0]));
  for (const text of ["one", large, "two"]) assert.ok((await write(text)).tokenIds.length > 0);
  assert.ok(!hostile.isSettled());
  hostile.abort();
  await assert.rejects(hostile.written, { code: "cancelled" });
});

test("serves another client's small template while endless templates run", async (context) => {
  const { start } = threadsFor(context);
  const endless = Array.from({ length: 8 }, () => start("", templated(hostileTemplates["a loop"][0])));
  const small = await start("", templated("{{ messages[0].content }}"), "other").written;
  assert.ok(small.tokenIds.length > 0);
  // No endless template has reached its time limit, so the other client's small template did not wait for them.
  assert.ok(endless.every(({ isSettled }) => !isSettled()));
  for (const { abort, written } of endless) {
    abort();
    await assert.rejects(written, { code: "cancelled" });
  }
});

test("fails running and waiting prompts when it stops", async (context) => {
  const { threads, start } = threadsFor(context);
  const own = start("", templated(hostileTemplates["a loop"][0]));
  const all = [start("endless"), start(emojiWord), start("hi"), own];
  await threads.stop();
  for (const { written } of all) await assert.rejects(written, { code: "unavailable" });
});
