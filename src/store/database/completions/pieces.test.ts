// What recorded prompts have in common is stored once, and goes with the last that has it.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { sampleCompletion, sampleContent, samplePrompt } from "../contract/completion-store.ts";
import { storeModel } from "../contract/storage-under-test.ts";
import { openSqlite } from "../sqlite/sqlite-dialect.ts";
import { openStores } from "../stores.ts";

async function openStore(t: TestContext) {
  const connection = openSqlite({ file: ":memory:", isShared: true });
  const stores = await openStores(connection);
  t.after(() => stores.close());
  await storeModel(stores.models, "m");
  /** Uses of each piece, in no order. */
  const uses = async () => {
    const rows = await connection.queries.selectFrom("completion_pieces").select("use_count").execute();
    return rows.map((row) => row.use_count).toSorted((one, other) => other - one);
  };
  return { completions: stores.completions, uses };
}

const system = "You answer in rhymes. ".repeat(60);
const question = "What is it? ".repeat(60);

/** The same system prompt of 300 tokens, and a question behind it. */
function asked(requestId: string, ...questions: readonly string[]) {
  const promptTokenIds = Array.from({ length: 600 }, (_, index) =>
    index < 300 ? index : index + Number(requestId),
  );
  return sampleCompletion(requestId, {
    content: sampleContent({ prompt: samplePrompt(system, ...questions), promptTokenIds }),
  });
}

test("prompts that begin alike share their beginnings", async (t) => {
  const { completions, uses } = await openStore(t);
  await completions.add([asked("1", "short"), asked("2", "other")]);
  // The system's message with both; of the tokens the first block with both next ones, each with one.
  assert.deepEqual(await uses(), [2, 2, 1, 1]);
  await completions.add([asked("3", `${question}a`), asked("3000", `${question}a`)]);
  // The system's message has one piece more behind it, which both have; the first block two.
  assert.deepEqual(await uses(), [4, 3, 2, 1, 1, 1, 1]);
  const stored = await completions.find(asked("1"));
  assert.ok(stored !== null && stored.byteCount < 2000, "what is shared is not stored with each");
});

test("pieces go with the last that has them, in whichever order", async (t) => {
  const { completions, uses } = await openStore(t);
  await completions.add(["1", "2", "3"].map((id) => asked(id, `${question}${id === "3" ? "b" : "a"}`)));
  const all = (await uses()).length;
  await completions.delete(asked("2"));
  assert.equal((await uses()).length, all - 1);
  await completions.delete(asked("1"));
  await completions.delete(asked("3"));
  assert.deepEqual(await uses(), []);
});

test("a completion that takes another's place gives back what that had", async (t) => {
  const { completions, uses } = await openStore(t);
  await completions.add([asked("1", `${question}a`)]);
  const before = await uses();
  await completions.add([asked("1", `${question}a`)]);
  assert.deepEqual(await uses(), before);
  await completions.add([sampleCompletion("1", { content: null })]);
  assert.deepEqual(await uses(), []);
});
