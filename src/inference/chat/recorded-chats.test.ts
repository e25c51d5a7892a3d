// Tests which answers are recorded, and when.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChatDelta } from "../../base/domain/chat.ts";
import type { AnsweredRequest, ChatRecorder } from "../../base/domain/recordings/chat-recorder.ts";
import { chatRequest } from "./testing/chat-request.ts";
import {
  endOfText,
  ScriptedEngine,
  finished,
  idsOf,
  oneByOne,
  hello,
  base,
  trained,
  caller,
  serve,
} from "./testing/scripted-engine.ts";

/** Returns a recorder that keeps everything in memory. Its `end` waits until `open` is called. */
function keepingRecorder(wanted = true, isStored = true) {
  const begun: AnsweredRequest[] = [];
  const deltas: ChatDelta[] = [];
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  let endCount = 0;
  const recorder: ChatRecorder = {
    records: () => wanted,
    begin: (answered) => {
      begun.push(answered);
      return {
        key: { projectId: answered.version.projectId, requestId: answered.request.identity.requestId },
        add: (more) => void deltas.push(...more),
        end: async () => {
          endCount += 1;
          await opened;
          return isStored;
        },
      };
    },
  };
  return { recorder, begun, deltas, open, ends: () => endCount };
}

test("records a trained model's answer before the answer ends, with log-probabilities that the client does not get", async () => {
  const ids = [...idsOf("yes"), endOfText];
  const script = oneByOne(ids, finished("stop", endOfText));
  const { recorder, begun, deltas, open, ends } = keepingRecorder();
  const service = serve(new ScriptedEngine(script), { model: trained, recorder });
  const { signal } = new AbortController();
  const request = chatRequest({ output: { logprobs: null }, sampling: { temperature: 0.5, seed: 7 } });
  const completion = await service.begin(request, caller, { signal });
  assert.deepEqual(completion.recordedAs, { projectId: "acme/games", requestId: "r1" });
  const seen: ChatDelta[] = [];
  let isEnded = false;
  const reading = (async () => {
    for await (const step of completion.deltas) seen.push(...step);
    isEnded = true;
  })();
  while (ends() === 0) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(isEnded, false);
  open();
  await reading;
  assert.notEqual(completion.recordedAs, null);
  assert.deepEqual(
    seen.flatMap(({ tokenIds }) => tokenIds),
    ids,
  );
  assert.equal(completion.header.logprobs, "off");
  assert.deepEqual(
    deltas.flatMap(({ logprobs }) => logprobs.map(({ tokenId, logprob }) => [tokenId, logprob])),
    ids.map((id) => [id, -0.5]),
  );
  const [{ version, sampling, promptTokenIds, choiceCount, caller: sender }] = begun as [AnsweredRequest];
  assert.deepEqual(version, {
    projectId: "acme/games",
    modelId: "m",
    step: 1,
    model: "agent",
    fingerprint: "f",
  });
  assert.deepEqual([sampling.temperature, sampling.seed, sampling.isHeld], [0.5, 7, false]);
  assert.deepEqual([promptTokenIds, choiceCount, sender], [completion.header.promptTokenIds, 1, caller]);
});

test("does not record unwanted answers, base models' answers, failed answers, or answers that the client abandons", async () => {
  const script = oneByOne(idsOf("yes, 1"), finished("length"));
  const { signal } = new AbortController();
  const asked = { output: { logprobs: null } };
  for (const [model, wanted] of [
    [trained, false],
    [base, true],
  ] as const) {
    const { recorder, begun } = keepingRecorder(wanted);
    const engine = new ScriptedEngine(script);
    const completion = await serve(engine, { model, recorder }).begin(chatRequest(asked), caller, { signal });
    for await (const _ of completion.deltas);
    assert.deepEqual([begun, completion.recordedAs], [[], null]);
    assert.equal(engine.requests[0]?.outputs.topLogprobCount, null);
  }
  const failing = keepingRecorder();
  const broken = [...script.slice(0, 2), new Error("gone")];
  const failed = await serve(new ScriptedEngine(broken), {
    model: trained,
    recorder: failing.recorder,
  }).begin(hello, caller, { signal });
  await assert.rejects(async () => {
    for await (const _ of failed.deltas);
  }, /gone/);
  const left = keepingRecorder();
  const completion = await serve(new ScriptedEngine(script), {
    model: trained,
    recorder: left.recorder,
  }).begin(hello, caller, { signal });
  for await (const _ of completion.deltas) break;
  assert.deepEqual([failing.begun.length, failing.ends(), left.begun.length, left.ends()], [1, 0, 1, 0]);
});

test("does not mark an answer as recorded if its record is not on disk when the answer ends", async () => {
  const script = oneByOne(idsOf("yes"), finished("length"));
  const { recorder, open } = keepingRecorder(true, false);
  open();
  const { signal } = new AbortController();
  const service = serve(new ScriptedEngine(script), { model: trained, recorder });
  const completion = await service.begin(hello, caller, { signal });
  for await (const _ of completion.deltas);
  assert.equal(completion.recordedAs, null);
});
