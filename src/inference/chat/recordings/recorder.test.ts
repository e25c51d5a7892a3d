// Tests the recorder with slow and failing databases, and the expiry of recordings.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { chatRequest, type RequestChanges } from "../testing/chat-request.ts";
import type { ChatDelta } from "../../../base/domain/chat.ts";
import type { CompletionStore } from "../../../base/domain/recordings/completion-store.ts";
import { fullError, type StorageRoom } from "../../../base/domain/retention/storage-room.ts";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import { sampleContent } from "../../../store/database/contract/completion-store.ts";
import { moment, storeModel } from "../../../store/database/contract/storage-under-test.ts";
import { storesInMemory } from "../../../store/database/testing/stores-in-memory.ts";
import { createMetrics } from "../../../base/telemetry/metrics.ts";
import { silentLogger } from "../../../base/telemetry/testing/silent-logger.ts";
import { createRecorder, type Recorder } from "./recorder.ts";
import { recordingSettings, type RecordingSettings } from "./settings.ts";
import { valueBytes } from "./recorder.ts";

const usage = { promptTokens: 3, completionTokens: 4, cachedTokens: 0 };
const { sampling } = sampleContent();

/** Returns a recorder over an in-memory store with the model `m`. `add` replaces the store's function that writes. */
async function recording(
  options: {
    readonly settings?: Partial<RecordingSettings>;
    readonly add?: CompletionStore["add"];
    readonly room?: StorageRoom;
  } = {},
) {
  const { models, completions } = await storesInMemory();
  await storeModel(models, "m");
  const clock = new FakeClock();
  const metrics = createMetrics({ processMetrics: false });
  /** Ids of requests that the log names. */
  const named: string[] = [];
  const warn = (fields: { readonly requestIds?: readonly string[] }): void =>
    void named.push(...(fields.requestIds ?? []));
  const recorder = createRecorder({
    store: { add: options.add ?? ((answers) => completions.add(answers)) },
    settings: recordingSettings.with(options.settings),
    room: options.room,
    clock,
    metrics,
    logger: { ...silentLogger, warn },
  });
  const lost = async (): Promise<readonly string[]> =>
    [
      ...(await metrics.expose()).text.matchAll(/hone_recordings_lost_total\{reason="(.*)"\} ([1-9]\d*)/g),
    ].map(([, reason, count]) => `${count} ${reason}`);
  return { completions, recorder, clock, lost, named };
}

function begin(
  recorder: Recorder,
  requestId: string,
  changes: RequestChanges & { choiceCount?: number } = {},
) {
  return recorder.begin({
    request: chatRequest({ ...changes, identity: { requestId } }),
    caller: { keyId: "k", entity: "team", role: "member", owner: "Ada", scopes: null, project: null },
    version: { projectId: "team/games", modelId: "m", step: 2, model: "games/agent", fingerprint: "f" },
    promptTokenIds: [5, 6, 70_000],
    choiceCount: changes.choiceCount ?? 1,
    sampling,
    startedAt: moment(0),
  });
}

function delta(changes: Partial<ChatDelta> = {}): ChatDelta {
  return {
    choice: 0,
    text: "",
    reasoning: "",
    toolCalls: [],
    tokenIds: [],
    logprobs: [],
    finish: null,
    usage,
    choiceTokens: 0,
    ...changes,
  };
}

const finish = { reason: "stop", stopReason: null, matchedStop: null } as const;

test("waits for running writes when it stops", async () => {
  const { recorder, completions } = await recording();
  const record = begin(recorder, "a");
  record.add([delta({ text: "hi", tokenIds: [1], finish })]);
  const ended = record.end(usage);
  await recorder.stop();
  assert.equal(await ended, true);
  assert.notEqual(await completions.find({ projectId: "team/games", requestId: "a" }), null);
});

test("records the time from the beginning of the request to the first token", async () => {
  const { completions, recorder, clock } = await recording();
  const startMs = moment(0).getTime() - clock.now().getTime();
  const record = begin(recorder, "t");
  await clock.advance(1250 + startMs);
  record.add([delta({ text: "" })]);
  await clock.advance(50);
  record.add([delta({ text: "hi", tokenIds: [1] })]);
  await clock.advance(5000);
  record.add([delta({ tokenIds: [2], finish })]);
  assert.equal(await record.end(usage), true);
  assert.equal((await completions.find(record.key))?.firstTokenMs, 1300);
});

test("finds an answer with its tokens once its recording has ended", async () => {
  const { completions, recorder } = await recording();
  const record = begin(recorder, "r", { choiceCount: 2, recording: { metadata: { topic: "t" } } });
  const token = (tokenId: number, text: string, logprob: number) => ({
    tokenId,
    text,
    bytes: [...Buffer.from(text)],
    logprob,
    alternatives: [{ tokenId: 1, text: "x", bytes: [], logprob: -9 }],
  });
  record.add([
    delta({ reasoning: "Hm", tokenIds: [1], logprobs: [token(1, "Hm", -0.5)] }),
    delta({ choice: 1, text: "No", tokenIds: [9], logprobs: [token(9, "No", -1.5)], finish }),
  ]);
  record.add([
    delta({
      text: " Yes",
      toolCalls: [{ index: 0, id: "c", name: "look", argumentsText: '{"at"' }],
      tokenIds: [2, 3],
      logprobs: [token(2, " Y", -0.25), token(3, "es", -0.125)],
    }),
  ]);
  record.add([
    delta({ toolCalls: [{ index: 0, argumentsText: ":1}" }], finish: { ...finish, reason: "tool_calls" } }),
  ]);
  assert.equal(await record.end(usage), true);
  const found = await completions.find(record.key);
  assert.ok(found !== null);
  const bytes = Buffer.alloc(12);
  [5, 6, 70_000].forEach((id, index) => bytes.writeUInt32LE(id, 4 * index));
  assert.deepEqual(
    {
      step: found.step,
      owner: found.owner,
      promptHash: found.promptHash,
      finishReasons: found.finishReasons,
      hasLogprobs: found.hasLogprobs,
      promptText: found.promptText,
      answerText: found.answerText,
      metadata: found.metadata,
      usage: found.usage,
    },
    {
      step: 2,
      owner: "Ada",
      promptHash: createHash("sha256").update(bytes).digest("hex"),
      finishReasons: ["tool_calls", "stop"],
      hasLogprobs: true,
      promptText: "hi",
      answerText: 'Yeslook{"at":1}',
      metadata: { topic: "t" },
      usage,
    },
  );
  assert.deepEqual(found.content?.promptTokenIds, [5, 6, 70_000]);
  assert.deepEqual(found.content?.choices, [
    {
      text: " Yes",
      reasoning: "Hm",
      toolCalls: [{ id: "c", name: "look", argumentsText: '{"at":1}', isText: false }],
      finish: { ...finish, reason: "tool_calls" },
      tokenIds: [1, 2, 3],
      logprobs: [
        { logprob: -0.5, bytes: [72, 109] },
        { logprob: -0.25, bytes: [32, 89] },
        { logprob: -0.125, bytes: [101, 115] },
      ],
    },
    {
      text: "No",
      reasoning: "",
      toolCalls: [],
      finish,
      tokenIds: [9],
      logprobs: [{ logprob: -1.5, bytes: [78, 111] }],
    },
  ]);
});

test("records an answer if the operator and then the request allow it", async () => {
  const wishes = [null, true, false];
  for (const [record, expected] of [
    ["on", [true, true, false]],
    ["asked", [false, true, false]],
    ["off", [false, false, false]],
  ] as const) {
    const { recorder } = await recording({ settings: { record } });
    const records = wishes.map((isWanted) => recorder.records({ recording: { isWanted, metadata: {} } }));
    assert.deepEqual(records, expected, record);
  }
});

test("records only metadata and the beginning of an answer that is too large", async () => {
  const { completions, recorder } = await recording({ settings: { bytesMax: 2000 } });
  const answerLong = begin(recorder, "answer");
  for (let index = 0; index < 200; index++) answerLong.add([delta({ text: "word ", tokenIds: [index] })]);
  answerLong.add([delta({ finish })]);
  await answerLong.end(usage);
  const promptLong = begin(recorder, "prompt", {
    prompt: { messages: [{ role: "user", content: `  ${"p".repeat(159)}📎 more ${"x".repeat(3000)}` }] },
  });
  promptLong.add([delta({ text: "short", tokenIds: [1], finish })]);
  await promptLong.end(usage);
  const [answer, prompt] = [await completions.find(answerLong.key), await completions.find(promptLong.key)];
  assert.deepEqual([answer?.isWhole, answer?.answerText], [false, "word ".repeat(32)]);
  assert.deepEqual(
    [prompt?.isWhole, prompt?.promptText, prompt?.answerText],
    [false, "p".repeat(159), "short"],
  );
});

test("writes waiting recordings in one transaction", async () => {
  const batches: string[][] = [];
  const opened: (() => void)[] = [];
  const { recorder } = await recording({
    add: async (all) => {
      batches.push(all.map(({ requestId }) => requestId));
      await new Promise<void>((open) => opened.push(open));
      return all.length;
    },
    settings: { batchMax: 3 },
  });
  const ends = ["a", "b", "c", "d", "e"].map((id) => {
    const record = begin(recorder, id);
    record.add([delta({ text: id, tokenIds: [1], finish })]);
    return record.end(usage);
  });
  while (batches.length < 3) {
    opened.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  opened.shift()?.();
  await Promise.all(ends);
  assert.deepEqual(batches, [["a"], ["b", "c", "d"], ["e"]]);
});

test("delays the answer's end for a slow database only up to a time limit", async () => {
  let stored = 0;
  let open = (): void => undefined;
  const { recorder, clock } = await recording({
    add: (all) => new Promise((resolve) => (open = () => resolve((stored += all.length)))),
  });
  const record = begin(recorder, "slow");
  record.add([delta({ text: "a", tokenIds: [1], finish })]);
  const ended = record.end(usage);
  await clock.advance(500);
  assert.equal(await ended, false);
  assert.equal(stored, 0);
  open();
  await recorder.stop();
  assert.equal(stored, 1);
});

test("retries a failed write, finally counts it as lost, and still ends the answer", async () => {
  let failures = 1;
  const added: string[] = [];
  const { recorder, clock, lost, named } = await recording({
    add: async (all) => {
      if (failures-- > 0) throw new Error("disk");
      added.push(...all.map(({ requestId }) => requestId));
      return all.length;
    },
  });
  const end = async (id: string): Promise<void> => {
    const record = begin(recorder, id);
    record.add([delta({ text: id, tokenIds: [1], finish })]);
    const ended = record.end(usage);
    for (let second = 0; second < 8; second++) await clock.advance(1000);
    await ended;
  };
  await end("again");
  assert.deepEqual([added, await lost()], [["again"], []]);
  failures = 4;
  await end("lost");
  assert.deepEqual([added, await lost(), named], [["again"], ["1 not written"], ["lost"]]);
});

test("limits the size of waiting recordings and drops the excess", async () => {
  const { recorder, lost, named } = await recording({
    add: () => new Promise(() => undefined),
    settings: { waitingBytesMax: 600, waitMs: 0 },
  });
  for (const id of ["a", "b"]) {
    const record = begin(recorder, id);
    record.add([delta({ text: "x".repeat(100), tokenIds: [1], finish })]);
    void record.end(usage);
  }
  assert.deepEqual([await lost(), named], [["1 too many waiting"], ["b"]]);
});

test("records nothing more for an entity that exceeds its storage quota", async () => {
  const asked: string[] = [];
  const room = {
    require: async (entity: string) => {
      asked.push(entity);
      throw fullError(entity, 2, 1);
    },
  };
  const { recorder, completions, lost } = await recording({ room });
  const record = begin(recorder, "a");
  record.add([delta({ text: "hi", tokenIds: [1], finish })]);
  assert.equal(await record.end(usage), false);
  assert.deepEqual([asked, await lost()], [["team"], ["1 full"]]);
  assert.equal(await completions.find({ projectId: "team/games", requestId: "a" }), null);
});

test("measures the size of a value's JSON up to a limit", () => {
  for (const value of [
    { role: "user", content: "hello" },
    [1, [true, null], "a"],
    "text",
    { a: { b: ["c"] } },
  ]) {
    const length = JSON.stringify(value).length;
    assert.ok(Math.abs(valueBytes(value, 1e6) - length) <= 5 + length / 2, JSON.stringify(value));
  }
  let readCount = 0;
  const counting = Array.from({ length: 100 }, () =>
    Object.defineProperty({}, "text", { enumerable: true, get: () => (readCount++, "x".repeat(100)) }),
  );
  assert.ok(valueBytes(counting, 1000) > 1000);
  assert.ok(readCount < 12, String(readCount));
});
