// Tests the steps of learning, with in-memory stores and models that a test scripts: an unreachable judge, replies of
// users, and the choice of the data to train on.
import assert from "node:assert/strict";
import { test } from "node:test";
import { always } from "../../base/domain/feedback-query/condition.ts";
import type { AskModel } from "../../base/domain/fine-tuning/ask-model.ts";
import type { LearningCycle } from "../../base/domain/learning/learning-cycle.ts";
import type { LearningOrder } from "../../base/domain/learning/learning-order.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { Json, JsonObject } from "../../base/domain/text/json.ts";
import { FakeClock } from "../../base/domain/testing/fake-clock.ts";
import {
  sampleCompletion,
  sampleContent,
  samplePrompt,
} from "../../store/database/contract/completion-store.ts";
import { sampleOrder } from "../../store/database/contract/learning/learning-store.ts";
import { sampleCounts, sampleVersion, storeModel } from "../../store/database/contract/storage-under-test.ts";
import { storesInMemory } from "../../store/database/testing/stores-in-memory.ts";
import { refTo, said, thumb } from "../rewards/testing/samples.ts";
import { isHeldOut } from "./conversation-key.ts";
import { learningSettings } from "./settings.ts";
import { takeStep } from "./take-step.ts";

const hold = { modelId: "m", owner: "server" };
const judge = { model: "judge", rubric: "Short." };
const down = new ServiceError({ code: "unavailable", message: "The judge is not loaded." });

async function bench(changes: Partial<LearningOrder> = {}) {
  const clock = new FakeClock();
  const stores = await storesInMemory(clock);
  const { models, servers, learning, completions, feedback, jobs } = stores;
  await storeModel(models, "m");
  await servers.create("server", {
    until: new Date(clock.now().getTime() + 1e9),
    baseModels: ["tiny"],
    artifacts: "",
  });
  const order = { ...sampleOrder, heldOutShare: 0.5, signalsMin: 2, promptsMin: 2, ...changes };
  const at = clock.now();
  await learning.put({ modelId: "m", order, keyId: "key", keyOwner: "Ada", createdAt: at, updatedAt: at });
  const asked: JsonObject[] = [];
  const script: { verdict: (body: JsonObject) => Json; version: (body: JsonObject) => string } = {
    verdict: () => "good",
    version: () => "Yes.",
  };
  const ask: AskModel = async (body) => {
    asked.push(body);
    const isVerdict = body["response_format"] !== undefined;
    const content = isVerdict ? JSON.stringify({ result: script.verdict(body) }) : script.version(body);
    const message = { role: "assistant", content };
    return {
      choices: [{ message, finish_reason: "stop" }],
      usage: { total_tokens: 1, completion_tokens: 1 },
    };
  };
  const changed: LearningCycle[] = [];
  const dependencies = {
    ...stores,
    clock,
    settings: learningSettings.with(),
    sequenceLengthMax: 1e6,
    jobQueue: {
      submit: (...[job, lines, key, more]: Parameters<typeof jobs.create>) =>
        jobs.create(job, lines, key, more),
    },
    askAs: () => ask,
    measureAs: () => async (_model: string, ids: readonly number[]) => ids.map(() => -1),
    findFeedback: (projectId: string, id: string) => feedback.find(projectId, id),
    createFeedback: async (record: Parameters<typeof said>[1] & { readonly vendorRef: string }) =>
      (await feedback.create([{ ...said(record.vendorRef, record), createdAt: clock.now() }]))[0],
    onChange: (cycle: LearningCycle) => void changed.push(cycle),
  };
  const step = async (): Promise<LearningCycle | null> => {
    const [claimed] = await learning.claim("server");
    await takeStep(dependencies, claimed, hold, new AbortController().signal);
    return learning.newestCycle("m");
  };
  /** Records chats with these first messages, and one reaction on each answer. */
  const rated = async (words: readonly string[], emoji = "👍"): Promise<void> => {
    for (const word of words) {
      const prompt = samplePrompt("", word);
      await record(word, prompt);
      await feedback.create([thumb(refTo(word), emoji, { createdAt: clock.now() })]);
    }
  };
  const record = async (requestId: string, prompt: ReturnType<typeof samplePrompt>): Promise<void> => {
    const content = sampleContent({ prompt, choices: sampleContent().choices.slice(0, 1) });
    const [choice] = content.choices;
    const promptHash = Buffer.from(requestId).toString("hex").padEnd(64, "0").slice(0, 64);
    const answered = { ...content, choices: [{ ...choice, text: "Yes.", toolCalls: [] }] };
    const times = { startedAt: clock.now(), endedAt: clock.now() };
    const about = { step: 0, promptHash, finishReasons: ["stop" as const], ...times };
    await completions.add([sampleCompletion(requestId, { ...about, content: answered })]);
  };
  const succeed = async (jobId: string): Promise<void> => {
    await jobs.claim("server", clock.now());
    const pins = { ...samplePins, startStep: 0 };
    await jobs.pin(jobId, "server", pins);
    const version = sampleVersion("m", 1, { jobId });
    await jobs.succeed(jobId, { owner: "server", version, counts: sampleCounts, at: clock.now(), data: {} });
  };
  return { ...stores, clock, asked, script, changed, step, rated, record, succeed };
}

const samplePins = {
  resultStep: 1,
  settings: {},
  baseHash: "",
  trainerBuild: "",
  seed: "",
  hasTrainerState: false,
};

const words = Array.from({ length: 40 }, (_, index) => `question ${index}`);
const heldWords = words.filter((word) => isHeldOut(samplePrompt("", word), "", 0.5));
const otherWords = words.filter((word) => !heldWords.includes(word));

test("starts a job once there are enough signals and held-out answers, and trains on no held-out answer", async () => {
  const { rated, step, sources, learning } = await bench();
  await rated([...otherWords.slice(0, 3), heldWords[0]]);
  assert.equal(await step(), null);
  const noted = await learning.find("m");
  assert.deepEqual([noted?.signalCount, noted?.heldOutCount], [3, 1]);
  await rated([heldWords[1]]);
  const cycle = await step();
  assert.equal(cycle?.stage, "training");
  assert.deepEqual(cycle.learned, [{ kind: "ratings", owner: "Ada", creator: null, count: 3 }]);
  const page = { after: null, limit: 100, order: "asc" } as const;
  const { items } = await sources.list(cycle.jobId, page);
  assert.deepEqual(items.map(({ requestId }) => requestId).sort(), otherWords.slice(0, 3).sort());
  assert.deepEqual(cycle.heldOut.map(({ requestId }) => requestId).sort(), heldWords.slice(0, 2).sort());
});

test("waits while the judge cannot be asked, and refuses the candidate after a day", async () => {
  const { rated, step, script, succeed, clock, models } = await bench({ judge });
  await rated([...otherWords.slice(0, 3), ...heldWords.slice(0, 3)]);
  const started = await step();
  await succeed(started?.jobId ?? "");
  assert.equal((await step())?.stage, "evaluating");
  script.verdict = () => {
    throw down;
  };
  const waiting = await step();
  assert.deepEqual([waiting?.stage, waiting?.waitingFor], ["evaluating", down.message]);
  assert.equal((await models.newestVersion("m"))?.step, 0);
  clock.step(25 * 3600 * 1000);
  const refused = await step();
  assert.equal(refused?.stage, "refused");
  assert.match(refused.reason ?? "", /could not be evaluated: The judge is not loaded/);
  assert.equal((await models.newestVersion("m"))?.step, 0);
});

test("promotes a candidate that the judge finds as good, and refuses one that it finds worse", async () => {
  for (const [verdict, stage] of [
    ["good", "watching"],
    ["bad", "refused"],
  ] as const) {
    const { rated, step, script, succeed, models, changed, asked } = await bench({ judge });
    await rated([...otherWords.slice(0, 3), ...heldWords.slice(0, 3)]);
    await succeed((await step())?.jobId ?? "");
    script.version = ({ model }) => (model === "m:step1" ? "candidate" : "current");
    script.verdict = (body) => (JSON.stringify(body["messages"]).includes("candidate") ? verdict : "good");
    await step();
    const cycle = await step();
    assert.equal(cycle?.stage, stage, cycle?.reason ?? "");
    assert.equal(cycle.evaluation?.promptCount, 3);
    assert.equal((await models.newestVersion("m"))?.step, verdict === "good" ? 1 : 0);
    assert.deepEqual(
      changed.map((one) => one.stage),
      ["evaluating", stage],
    );
    assert.ok(asked.every((body) => body["store"] === false && body["temperature"] === 0));
  }
});

test("judges a reply once, and continues with the same chat after a failure of the judge", async () => {
  const { record, step, script, feedback, asked } = await bench({ judge, signals: ["next_message"] });
  const first = samplePrompt("", "Say cat.");
  assert.ok(first.kind === "conversation");
  await record("first", first);
  const answer = { role: "assistant", content: "Yes." };
  const messages = [...first.messages, answer, { role: "user", content: "No." }];
  await record("second", { ...first, messages });
  await record("third", { ...first, messages });
  script.verdict = () => {
    throw down;
  };
  await assert.rejects(step(), down);
  script.verdict = () => "corrects";
  await step();
  const [call] = asked.slice(-1);
  assert.match(JSON.stringify(call["messages"]), /Next message.*No\./);
  const count = asked.length;
  await step();
  assert.equal(asked.length, count);
  const { items } = await feedback.query(
    {
      projectId: "team/games",
      condition: always,
      sortBy: [],
      limit: 10,
      offset: 0,
    },
    { entity: "team", timeMs: 10_000 },
  );
  assert.deepEqual(
    items.map(({ vendorRef, feedbackType, creator, payload }) => [vendorRef, feedbackType, creator, payload]),
    [
      [
        refTo("first"),
        "hone.next_message",
        "Ada",
        { verdict: "corrects", value: 0, judge: "judge", next_request_id: "second" },
      ],
    ],
  );
});
