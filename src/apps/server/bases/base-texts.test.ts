// Tests when a base model's text components are opened and closed, with a real tokenizer and a fake clock.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import { createPromptThreads } from "../../../inference/chat/prompts/prompt-threads.ts";
import { plainReplies } from "../../../inference/chat/testing/plain-replies.ts";
import { loadTokenizer } from "../../../lib/tokenizer/tokenizer.ts";
import { vocabularyOf } from "../constraints/vocabularies.ts";
import { createBaseTexts, type Texts } from "./base-texts.ts";

const folder = "test/fixtures/goldens/models/qwen3";

function create({ failureCount = 0, isOpenAtStart = false } = {}) {
  const clock = new FakeClock();
  const opened: Texts[] = [];
  let failures = failureCount;
  const state = { isLoaded: false };
  const texts = createBaseTexts({
    open: async () => {
      if (failures-- > 0) throw new Error("broken");
      const tokenizer = await loadTokenizer(folder);
      const prompts = createPromptThreads({ folder, toolsAsText: false });
      const made = { tokenizer, replies: plainReplies, vocabulary: vocabularyOf(tokenizer), prompts };
      opened.push(made);
      return made;
    },
    refusal: (error) => new ServiceError({ code: "unavailable", message: `refused: ${String(error)}` }),
    isOpenAtStart,
    isLoaded: () => state.isLoaded,
    clock,
  });
  return { clock, opened, state, texts };
}

const isClosed = ({ prompts }: Texts): Promise<boolean> =>
  prompts.read([1], { client: "", signal: new AbortController().signal }).then(
    () => false,
    () => true,
  );

test("opens the texts once for all users, and closes them a minute after the last user has released them", async (t) => {
  const { clock, opened, texts } = create();
  t.after(() => texts.stop());
  const [one, other] = await Promise.all([texts.use(), texts.use()]);
  assert.equal(one.texts, other.texts);
  one.release();
  one.release();
  await clock.advance(120_000);
  assert.equal(await isClosed(one.texts), false);
  other.release();
  await clock.advance(59_000);
  (await texts.use()).release();
  await clock.advance(59_000);
  assert.equal(opened.length, 1);
  await clock.advance(1000);
  assert.equal(await isClosed(one.texts), true);
  const again = await texts.use();
  assert.equal(opened.length, 2);
  assert.equal(await isClosed(again.texts), false);
});

test("keeps the texts open while the engine is loaded, and closes them a minute after its eviction", async (t) => {
  const { clock, opened, state, texts } = create();
  t.after(() => texts.stop());
  state.isLoaded = true;
  (await texts.use()).release();
  await clock.advance(600_000);
  assert.equal(await isClosed(opened[0]), false);
  state.isLoaded = false;
  texts.letGo();
  await clock.advance(60_000);
  assert.equal(await isClosed(opened[0]), true);
});

test("refuses requests with the reason after the texts failed to open, and retries after ten seconds", async (t) => {
  const { clock, texts } = create({ failureCount: 1 });
  t.after(() => texts.stop());
  assert.equal(texts.fault, null);
  const refusal = { code: "unavailable", message: "refused: Error: broken" };
  await assert.rejects(texts.use(), refusal);
  assert.equal(texts.fault, refusal.message);
  await clock.advance(9999);
  await assert.rejects(texts.use(), refusal);
  await clock.advance(1);
  const { texts: opened, release } = await texts.use();
  assert.ok(opened.tokenizer.vocabularySize > 0);
  assert.equal(texts.fault, null);
  release();
});

test("fails the start if texts that are opened at the start cannot be opened", async (t) => {
  const { opened, texts } = create({ isOpenAtStart: true });
  t.after(() => texts.stop());
  await texts.start();
  assert.equal(opened.length, 1);
  await assert.rejects(create({ isOpenAtStart: true, failureCount: 1 }).texts.start(), /broken/);
});

test("closes the texts at a stop despite users, and does not open them again", async () => {
  const { clock, texts } = create();
  const { texts: opened, release } = await texts.use();
  await texts.stop();
  release();
  assert.equal(clock.sleepingCount, 0);
  assert.equal(await isClosed(opened), true);
  await assert.rejects(texts.use(), { code: "unavailable" });
});
