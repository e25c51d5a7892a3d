// The contract that every CompletionStore must pass.
import assert from "node:assert/strict";
import { test } from "node:test";
import { plainConversation } from "../../../base/domain/chat.ts";
import {
  anyCompletion,
  type CompletionFilter,
  type CompletionStore,
  type StoredCompletion,
} from "../../../base/domain/recordings/completion-store.ts";
import type {
  CompletionContent,
  RecordedChoice,
  RecordedCompletion,
  RecordedPrompt,
} from "../../../base/domain/recordings/recorded-completion.ts";
import {
  type MakeStorage,
  moment,
  openTwice,
  sampleFeedback,
  sampleModel,
  sampleVersion,
  storeModel,
} from "./storage-under-test.ts";

const strange = 'NUL \u0000, a lone half \ud83d, 👩🏽‍💻 and \u2028 "';

/** Returns a conversation with these messages. The first is the system message. */
export function samplePrompt(...texts: readonly string[]): RecordedPrompt {
  return {
    kind: "conversation",
    ...plainConversation,
    messages: texts.map((content, index) => ({ role: index === 0 ? "system" : "user", content })),
    template: null,
    addSpecialTokens: false,
    truncation: null,
    echo: false,
  };
}

const sampleChoice: RecordedChoice = {
  text: strange,
  reasoning: "",
  toolCalls: [{ id: "call-1", name: "weather", argumentsText: '{"city":"\\u0000"}', isText: false }],
  finish: { reason: "tool_calls", stopReason: null, matchedStop: null },
  tokenIds: [0, 1, 127, 128, 300, 16_384, 262_143, 2 ** 31],
  logprobs: [-0.1, -1e-300, -9999, 0, -Math.PI, -1 / 3, -2, -3].map((logprob, index) => ({
    logprob,
    bytes: index === 2 ? [] : [index, 255],
  })),
};

export function sampleContent(changes: Partial<CompletionContent> = {}): CompletionContent {
  return {
    prompt: samplePrompt("Be brief.", strange),
    promptTokenIds: [1, 2, 3, 70_000],
    sampling: {
      temperature: 0.7,
      topP: 1,
      topK: 0,
      minP: 0,
      topNSigma: 0,
      repetitionPenalty: 1,
      frequencyPenalty: 0,
      presencePenalty: 0,
      seed: 2 ** 53 - 1,
      maxTokens: 10,
      minTokens: 0,
      stop: [strange],
      isSearched: false,
      isHeld: false,
    },
    choices: [sampleChoice, { ...sampleChoice, text: "", logprobs: null }],
    ...changes,
  };
}

export function sampleCompletion(
  requestId: string,
  changes: Partial<RecordedCompletion> = {},
): RecordedCompletion {
  return {
    projectId: "team/games",
    requestId,
    modelId: "m",
    step: 1,
    model: "games/agent",
    fingerprint: "tiny@m:step1+hone",
    owner: "Ada",
    startedAt: moment(0),
    endedAt: moment(1),
    usage: { promptTokens: 4, completionTokens: 16, cachedTokens: 2 },
    promptHash: "ab".repeat(32),
    finishReasons: ["tool_calls", "tool_calls"],
    hasLogprobs: true,
    promptText: strange,
    answerText: strange,
    rolloutId: null,
    metadata: { topic: strange },
    content: sampleContent(),
    ...changes,
  };
}

/** Returns a stored completion in the form in which the test gave it to the store. */
function given(stored: StoredCompletion): RecordedCompletion {
  const { number: _number, byteCount: _bytes, isWhole: _whole, ...completion } = stored;
  return completion;
}

async function idsIn(
  store: CompletionStore,
  filter: Partial<CompletionFilter> = {},
  { limit = 100, after = null, order = "asc" }: Partial<Parameters<CompletionStore["list"]>[1]> = {},
): Promise<readonly [ids: readonly string[], hasMore: boolean]> {
  const page = await store.list({ ...anyCompletion, ...filter }, { limit, after, order });
  return [page.items.map(({ requestId }) => requestId), page.hasMore];
}

/** Registers the tests that a store of completions must pass. */
export function checkCompletionStore(makeStorage: MakeStorage): void {
  test("returns a completion unchanged, also after reopening, until it is deleted", async (t) => {
    const open = await makeStorage(t);
    const first = await open();
    await storeModel(first.models, "m");
    // This prompt has more messages and tokens than fit into the maximum number of pieces.
    const long = sampleContent({
      prompt: samplePrompt(...Array.from({ length: 80 }, (_, index) => `${index} ${"long ".repeat(200)}`)),
      promptTokenIds: Array.from({ length: 256 * 70 + 17 }, (_, index) => index % 50_000),
    });
    const text = sampleContent({
      prompt: { kind: "text", text: strange, addSpecialTokens: true, truncation: -1, echo: true },
      promptTokenIds: [],
    });
    const completions = [
      sampleCompletion("a"),
      sampleCompletion(`/: %${strange}`),
      sampleCompletion("long", { content: long }),
      sampleCompletion("text", { content: text }),
      sampleCompletion("tokens", {
        content: sampleContent({ prompt: { kind: "tokens", truncation: null, echo: false } }),
      }),
      sampleCompletion("outline", { content: null }),
    ];
    assert.equal(await first.completions.add(completions), completions.length);
    await first.close();
    const { completions: store } = await open();
    for (const completion of completions) {
      const found = await store.find(completion);
      assert.ok(found !== null, completion.requestId);
      assert.deepEqual(given(found), completion);
      assert.equal(found.isWhole, completion.content !== null);
      assert.equal(found.byteCount > 0, found.isWhole);
    }
    assert.deepEqual(
      (await store.findOutlines([sampleCompletion("a"), sampleCompletion("x")])).map((one) => one.requestId),
      ["a"],
    );
    assert.deepEqual(await store.findOutlines([]), []);
    assert.equal(await store.find({ projectId: "team/other", requestId: "a" }), null);
    assert.equal(await store.delete(sampleCompletion("a")), true);
    assert.equal(await store.delete(sampleCompletion("a")), false);
    assert.equal(await store.find(sampleCompletion("a")), null);
    assert.equal((await idsIn(store))[0].length, completions.length - 1);
  });

  test("marks only the given completion as undelivered, and changes nothing else", async (t) => {
    const open = await makeStorage(t);
    const { completions: store, models } = await open();
    await storeModel(models, "m");
    const attempt = { hash: "h", retryCount: 1, mayReplace: true };
    const given = [sampleCompletion("/: %'", { attempt }), sampleCompletion("other")];
    await store.add(given);
    const read = () => Promise.all(given.map((one) => store.find(one)));
    const before = await read();
    for (const key of [given[0], given[0], { projectId: "team/games", requestId: "none" }])
      await store.markUndelivered(key);
    assert.deepEqual(await read(), [{ ...before[0], isUndelivered: true }, before[1]]);
    assert.deepEqual(before[0]?.attempt, attempt);
    const { items } = await store.list(anyCompletion, { limit: 2, after: null, order: "asc" });
    assert.deepEqual(
      items.map(({ isUndelivered = false }) => isUndelivered),
      [true, false],
    );
  });

  test("returns the newest completion for a reused id", async (t) => {
    const stores = await (await makeStorage(t))();
    await storeModel(stores.models, "m");
    await storeModel(stores.models, "n");
    const { completions: store } = stores;
    await store.add([sampleCompletion("a", { step: 1 }), sampleCompletion("b")]);
    await store.add([sampleCompletion("a", { step: 2 }), sampleCompletion("a", { step: 3, modelId: "n" })]);
    assert.equal((await store.find(sampleCompletion("a")))?.step, 3);
    assert.deepEqual(await idsIn(store), [["b", "a"], false]);
    assert.deepEqual(await idsIn(store, { modelId: "m" }), [["b"], false]);
  });

  test("keeps shared pieces until the last completion that uses them is deleted", async (t) => {
    const stores = await (await makeStorage(t))();
    await storeModel(stores.models, "m");
    const { completions: store } = stores;
    const system = "A system prompt. ".repeat(100);
    const tokens = Array.from({ length: 1000 }, (_, index) => index);
    const contents = [
      [system, "one ".repeat(300)],
      [system, "two ".repeat(300)],
      [system, "two ".repeat(300), "three"],
      [system],
    ].map((texts, index) =>
      sampleContent({ prompt: samplePrompt(...texts), promptTokenIds: [...tokens, index] }),
    );
    const all = contents.map((content, index) => sampleCompletion(String(index), { content }));
    await store.add(all.slice(0, 2));
    await store.add([...all.slice(2), sampleCompletion("again", { content: contents[1] ?? null })]);
    const left = new Map(
      [...all, sampleCompletion("again", { content: contents[1] ?? null })].map((one) => [
        one.requestId,
        one,
      ]),
    );
    for (const gone of ["1", "0", "3", "again", "2"]) {
      await store.delete(sampleCompletion(gone));
      left.delete(gone);
      for (const completion of left.values()) {
        const found = await store.find(completion);
        assert.deepEqual(found && given(found), completion, `${completion.requestId} without ${gone}`);
      }
    }
    await store.add(all);
    assert.deepEqual((await store.find(sampleCompletion("2")))?.content, contents[2]);
  });

  test("lists completions in storage order, filtered and paged", async (t) => {
    const stores = await (await makeStorage(t))();
    const { completions: store, models } = stores;
    await storeModel(models, "m");
    await models.create(sampleModel("n", { entity: "club", project: "chess" }), sampleVersion("n", 0));
    await store.add([
      sampleCompletion("a", { endedAt: moment(1), step: 0 }),
      sampleCompletion("b", { endedAt: moment(2), step: 1 }),
      sampleCompletion("c", { endedAt: moment(3), step: 1, modelId: "n", projectId: "club/chess" }),
    ]);
    await store.add([sampleCompletion("d", { endedAt: moment(4), step: 0 })]);
    assert.deepEqual(await idsIn(store), [["a", "b", "c", "d"], false]);
    const newest = { order: "desc", limit: 2 } as const;
    const page = await store.list(anyCompletion, { ...newest, after: null });
    assert.deepEqual([page.items.map(({ requestId }) => requestId), page.hasMore], [["d", "c"], true]);
    assert.deepEqual(await idsIn(store, {}, { ...newest, after: page.last }), [["b", "a"], false]);
    const [, second] = page.items;
    assert.deepEqual(await idsIn(store, {}, { after: second?.number ?? 0 }), [["d"], false]);
    assert.deepEqual(await idsIn(store, { modelId: "m" }, { limit: 2 }), [["a", "b"], true]);
    assert.deepEqual(await idsIn(store, { entity: "club" }), [["c"], false]);
    assert.deepEqual(await idsIn(store, { entity: "clu" }), [[], false]);
    assert.deepEqual(await idsIn(store, { projectId: "team/games", step: 0 }), [["a", "d"], false]);
    assert.deepEqual(await idsIn(store, { endedFrom: moment(2), endedBefore: moment(4) }), [
      ["b", "c"],
      false,
    ]);
    assert.deepEqual(await store.list({ ...anyCompletion, modelId: "x" }, { ...newest, after: null }), {
      items: [],
      last: 0,
      hasMore: false,
    });
  });

  test("finds the feedback on a completion or one of its choices, by any scheme, within its project", async (t) => {
    const stores = await (await makeStorage(t))();
    const { completions: store, models, feedback } = stores;
    await storeModel(models, "m");
    await store.add(["a", "b", "c/1", "d"].map((id) => sampleCompletion(id)));
    const on = (id: string, vendorRef: string, changes: Parameters<typeof sampleFeedback>[1] = {}) =>
      sampleFeedback(id, { vendorRef, ...changes });
    await feedback.create([
      on("1", "hone:///team/games/call/a"),
      on("2", "weave:///team/games/call/a/attr/choices/index/1", {
        feedbackType: "note",
        createdAt: moment(-1),
      }),
      on("3", "<scheme>:///team/games/call/c%2F1"),
      on("4", "hone:///team/games/object/b:1"),
      // Record 5 judges a call of another project; record 6 belongs to another project.
      on("5", "hone:///team/chess/call/b"),
      on("6", "hone:///team/games/call/b", { projectId: "team/chess" }),
    ]);
    const rated = (wish: CompletionFilter["feedback"]) => idsIn(store, { feedback: wish });
    assert.deepEqual(await rated({ kind: "any" }), [["a", "c/1"], false]);
    assert.deepEqual(await rated({ kind: "none" }), [["b", "d"], false]);
    assert.deepEqual(await rated({ kind: "type", type: "note" }), [["a"], false]);
    assert.deepEqual(await idsIn(store, { requestId: "c/1" }), [["c/1"], false]);
    const found = await store.feedbackOn(sampleCompletion("a"), 10);
    assert.deepEqual(
      found.map(({ id, feedbackType, vendorRef }) => [id, feedbackType, vendorRef]),
      [
        ["2", "note", "weave:///team/games/call/a/attr/choices/index/1"],
        ["1", "score", "hone:///team/games/call/a"],
      ],
    );
    assert.deepEqual(
      (await store.feedbackOn(sampleCompletion("a"), 1)).map(({ id }) => id),
      ["2"],
    );
    assert.deepEqual(await store.feedbackOn(sampleCompletion("x"), 10), []);
    const { id: _id, createdAt: _at, ...moved } = on("1", "hone:///team/games/call/d");
    await feedback.replace("team/games", "1", moved, moment(9));
    assert.deepEqual(await rated({ kind: "any" }), [["a", "c/1", "d"], false]);
  });

  test("deletes completions with their model, and ignores new ones for a deleted model", async (t) => {
    const stores = await (await makeStorage(t))();
    const { completions: store, models } = stores;
    await storeModel(models, "m");
    await storeModel(models, "n");
    await store.add([sampleCompletion("a"), sampleCompletion("b", { modelId: "n" })]);
    await models.delete("m");
    assert.deepEqual(await idsIn(store), [["b"], false]);
    assert.equal(await store.add([sampleCompletion("c"), sampleCompletion("d", { modelId: "n" })]), 1);
    assert.deepEqual(await idsIn(store), [["b", "d"], false]);
    await store.deleteOfModel("n");
    await store.deleteOfModel("n");
    assert.deepEqual(await idsIn(store), [[], false]);
    assert.equal(await store.add([sampleCompletion("c")]), 0);
    assert.equal(await store.add([]), 0);
  });

  test("loses nothing when connections record concurrently, and a paging reader skips nothing", async (t) => {
    const [one, other] = await openTwice(makeStorage, t);
    await storeModel(one.models, "m");
    const content = sampleContent({ prompt: samplePrompt("shared ".repeat(200), "?") });
    const record = (store: CompletionStore, name: string, count: number) =>
      Promise.all(
        Array.from({ length: count }, (_, index) =>
          store.add([
            sampleCompletion(`${name}${index}`, { content }),
            sampleCompletion(`both${index}`, { content }),
          ]),
        ),
      );
    await Promise.all([record(one.completions, "a", 5), record(other.completions, "b", 5)]);
    const [ids] = await idsIn(one.completions);
    assert.equal(new Set(ids).size, 15);
    const { items } = await other.completions.list(anyCompletion, { limit: 100, after: null, order: "asc" });
    assert.deepEqual(
      items.map(({ number }) => number),
      items.map(({ number }) => number).toSorted((first, second) => first - second),
    );
    await Promise.all(
      ids.map((id, index) => (index % 2 ? one : other).completions.delete(sampleCompletion(id))),
    );
    assert.deepEqual(await idsIn(one.completions), [[], false]);
  });
}
