// Tests that a prompt prefix which several completions share is stored once, and is deleted with the last completion
// that uses it.
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
  /** Returns the use count of each piece, in any order. */
  const uses = async () => {
    const rows = await connection.queries.selectFrom("completion_pieces").select("use_count").execute();
    return rows.map((row) => row.use_count).toSorted((one, other) => other - one);
  };
  return { completions: stores.completions, uses };
}

const system = "You answer in rhymes. ".repeat(60);
const question = "What is it? ".repeat(60);

/**
 * Returns a completion whose prompt begins with a fixed system message and 300 fixed tokens, followed by the questions.
 */
function asked(requestId: string, ...questions: readonly string[]) {
  const promptTokenIds = Array.from({ length: 600 }, (_, index) =>
    index < 300 ? index : index + Number(requestId),
  );
  return sampleCompletion(requestId, {
    content: sampleContent({ prompt: samplePrompt(system, ...questions), promptTokenIds }),
  });
}

test("shares pieces among prompts with a common prefix", async (t) => {
  const { completions, uses } = await openStore(t);
  await completions.add([asked("1", "short"), asked("2", "other")]);
  // Both completions use the piece of the system message and the first block of tokens. Each of the two blocks that
  // follow is used by only one completion.
  assert.deepEqual(await uses(), [2, 2, 1, 1]);
  await completions.add([asked("3", `${question}a`), asked("3000", `${question}a`)]);
  // The new completions share a second message piece after the system message, and both use the first block of tokens.
  assert.deepEqual(await uses(), [4, 3, 2, 1, 1, 1, 1]);
  const stored = await completions.find(asked("1"));
  assert.ok(stored !== null && stored.byteCount < 2000, "what is shared is not stored with each");
});

test("deletes pieces with the last completion that uses them, in either order of deletion", async (t) => {
  const { completions, uses } = await openStore(t);
  await completions.add(["1", "2", "3"].map((id) => asked(id, `${question}${id === "3" ? "b" : "a"}`)));
  const all = (await uses()).length;
  await completions.delete(asked("2"));
  assert.equal((await uses()).length, all - 1);
  await completions.delete(asked("1"));
  await completions.delete(asked("3"));
  assert.deepEqual(await uses(), []);
});

test("releases the pieces of a completion that is replaced", async (t) => {
  const { completions, uses } = await openStore(t);
  await completions.add([asked("1", `${question}a`)]);
  const before = await uses();
  await completions.add([asked("1", `${question}a`)]);
  assert.deepEqual(await uses(), before);
  await completions.add([sampleCompletion("1", { content: null })]);
  assert.deepEqual(await uses(), []);
});
