import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom, type Random } from "../../domain/random.ts";
import { laneBytes } from "../cache/kv-cache.ts";
import {
  planStep,
  slotsThatFit,
  type LaneLoad,
  type StartedPrompt,
  type StepBudget,
  type StepPlan,
  type WaitingPrompt,
} from "./scheduler.ts";

const budget: StepBudget = {
  slotCountMax: 8,
  kvCacheBytesMax: 100_000,
  bytesPerPosition: 10,
  tokensPerStepMax: 100,
  promptChunkTokens: 40,
};

const waiting = (key: number, tokenCount: number, more: Partial<WaitingPrompt> = {}): WaitingPrompt => ({
  key,
  laneId: "a",
  tokenCount,
  slotCount: 1,
  positionCountMax: tokenCount + 20,
  ...more,
});

const lane = (laneId: string, slotCount: number, decodingCount: number): LaneLoad => ({
  laneId,
  slotCount,
  positionCountMax: 64,
  decodingCount,
});

/** Admitted keys, then for each lane its groups as `key:start+count` and `decode`. */
const check = (
  input: {
    readonly waiting?: readonly WaitingPrompt[];
    readonly started?: readonly StartedPrompt[];
    readonly lanes?: readonly LaneLoad[];
    readonly budget?: Partial<StepBudget>;
  },
  expected: { readonly admitted: readonly number[]; readonly lanes: Readonly<Record<string, string>> },
): void => {
  const plan = planStep(input.waiting ?? [], input.started ?? [], input.lanes ?? [], {
    ...budget,
    ...input.budget,
  });
  assert.deepEqual(plan.admittedKeys, expected.admitted);
  assert.deepEqual(
    Object.fromEntries(plan.lanes.map((entry) => [entry.laneId, describe(entry)])),
    expected.lanes,
  );
};

const describe = ({ prefillGroups, decodes }: StepPlan["lanes"][number]): string =>
  [
    ...prefillGroups.map((group) =>
      group.map(({ key, start, count }) => `${key}:${start}+${count}`).join(" "),
    ),
    ...(decodes ? ["decode"] : []),
  ].join(" | ");

test("does nothing where there is nothing to do", () => {
  check({}, { admitted: [], lanes: {} });
});

test("admits the oldest first and computes short prompts of like length together", () => {
  check(
    { waiting: [waiting(1, 10), waiting(2, 9), waiting(3, 3)] },
    { admitted: [1, 2, 3], lanes: { a: "1:0+10 2:0+9 | 3:0+3" } },
  );
});

test("computes a long prompt in parts of the same size, whatever else runs", () => {
  check({ waiting: [waiting(1, 90)] }, { admitted: [1], lanes: { a: "1:0+40" } });
  check(
    { started: [{ key: 1, laneId: "a", tokenCount: 90, computedCount: 40 }], lanes: [lane("a", 4, 3)] },
    { admitted: [], lanes: { a: "1:40+40 | decode" } },
  );
  check(
    { started: [{ key: 1, laneId: "a", tokenCount: 90, computedCount: 80 }], lanes: [lane("a", 1, 0)] },
    { admitted: [], lanes: { a: "1:80+10" } },
  );
});

test("gives the oldest prompt its part even where the rows use up the tokens of the step", () => {
  check(
    {
      started: [{ key: 1, laneId: "a", tokenCount: 40, computedCount: 0 }],
      lanes: [lane("a", 5, 4)],
      budget: { tokensPerStepMax: 4 },
    },
    { admitted: [], lanes: { a: "1:0+40 | decode" } },
  );
});

test("keeps lanes apart and runs each that has work", () => {
  check(
    { waiting: [waiting(1, 10, { laneId: "b" }), waiting(2, 10)], lanes: [lane("a", 2, 2), lane("c", 1, 1)] },
    { admitted: [1, 2], lanes: { a: "2:0+10 | decode", b: "1:0+10", c: "decode" } },
  );
});

test("lets nothing overtake the oldest prompt that does not fit", () => {
  check(
    { waiting: [waiting(1, 10, { slotCount: 4 }), waiting(2, 10)], lanes: [lane("a", 6, 6)] },
    { admitted: [], lanes: { a: "decode" } },
  );
});

test("admits only what memory is set aside for", () => {
  // 64 positions of 10 bytes a slot: two slots take 1280 bytes, three as much as four 2560.
  const tight = { kvCacheBytesMax: 2559 };
  check(
    { waiting: [waiting(1, 10), waiting(2, 10), waiting(3, 10)], budget: tight },
    { admitted: [1, 2], lanes: { a: "1:0+10 2:0+10" } },
  );
  check(
    { waiting: [waiting(1, 10), waiting(2, 10), waiting(3, 10)], budget: { kvCacheBytesMax: 2560 } },
    { admitted: [1, 2, 3], lanes: { a: "1:0+10 2:0+10 3:0+10" } },
  );
});

test("says how many choices fit at once", () => {
  assert.equal(slotsThatFit(64, { slotCountMax: 8, kvCacheBytesMax: 640 * 4, bytesPerPosition: 10 }), 4);
  assert.equal(slotsThatFit(64, { slotCountMax: 3, kvCacheBytesMax: 640 * 4, bytesPerPosition: 10 }), 3);
  assert.equal(slotsThatFit(65, { slotCountMax: 3, kvCacheBytesMax: 1280, bytesPerPosition: 10 }), 0);
});

interface Simulated {
  readonly prompt: WaitingPrompt;
  readonly answerCount: number;
  computedCount: number;
  generatedCount: number;
}

/** A random day of requests; every invariant is checked at every step. */
const simulate = (seed: number): void => {
  const random = seededRandom("scheduler", seed);
  const context = `seed ${seed}`;
  const arrivals = Array.from({ length: 40 }, (_, key) => arrival(random, key));
  const queue: Simulated[] = [];
  const running: Simulated[] = [];
  const admittedOrder: number[] = [];
  for (let step = 0; arrivals.length + queue.length + running.length > 0; step++) {
    assert.ok(step < 3000, `${context}: nobody starves`);
    while (arrivals.length > 0 && random.uniform() < 0.3) queue.push(arrivals.shift() as Simulated);
    const started = running
      .filter((item) => item.computedCount < item.prompt.tokenCount)
      .map(({ prompt, computedCount }) => ({ ...prompt, computedCount }));
    const before = loads(running);
    const plan = planStep(
      queue.map((item) => item.prompt),
      started,
      before,
      budget,
    );
    assert.deepEqual(
      plan,
      planStep(
        queue.map((item) => item.prompt),
        started,
        before,
        budget,
      ),
      context,
    );
    admittedOrder.push(...plan.admittedKeys);
    running.push(...queue.splice(0, plan.admittedKeys.length));
    checkBudget(running, plan, context);
    apply(plan, running, before);
    for (const item of running.filter((candidate) => candidate.generatedCount >= candidate.answerCount)) {
      running.splice(running.indexOf(item), 1);
    }
  }
  assert.deepEqual(
    admittedOrder,
    admittedOrder.toSorted((a, b) => a - b),
    `${context}: first come, first served`,
  );
};

const arrival = (random: Random, key: number): Simulated => {
  const tokenCount = 1 + random.index(120);
  const answerCount = 1 + random.index(60);
  const prompt = {
    key,
    laneId: `lane ${random.index(3)}`,
    tokenCount,
    slotCount: 1 + random.index(4),
    positionCountMax: tokenCount + answerCount,
  };
  return { prompt, answerCount, computedCount: 0, generatedCount: 0 };
};

const loads = (running: readonly Simulated[]): readonly LaneLoad[] => {
  const ids = [...new Set(running.map((item) => item.prompt.laneId))];
  return ids.map((laneId) => {
    const inLane = running.filter((item) => item.prompt.laneId === laneId);
    const decoding = inLane.filter((item) => item.computedCount === item.prompt.tokenCount);
    return {
      laneId,
      slotCount: inLane.reduce((sum, item) => sum + item.prompt.slotCount, 0),
      positionCountMax: Math.max(...inLane.map((item) => item.prompt.positionCountMax)),
      decodingCount: decoding.reduce((sum, item) => sum + item.prompt.slotCount, 0),
    };
  });
};

const checkBudget = (running: readonly Simulated[], plan: StepPlan, context: string): void => {
  const after = loads(running);
  const bytes = after.reduce(
    (sum, load) => sum + laneBytes(load.slotCount, load.positionCountMax, budget.bytesPerPosition),
    0,
  );
  assert.ok(bytes <= budget.kvCacheBytesMax, `${context}: memory`);
  assert.ok(after.reduce((sum, load) => sum + load.slotCount, 0) <= budget.slotCountMax, `${context}: slots`);
  const chunks = plan.lanes.flatMap((entry) => entry.prefillGroups.flat());
  assert.equal(
    new Set(chunks.map((chunk) => chunk.key)).size,
    chunks.length,
    `${context}: one part a prompt`,
  );
  const tokens = chunks.reduce((sum, chunk) => sum + chunk.count, 0);
  const rows = after.reduce((sum, load) => sum + load.decodingCount, 0);
  assert.ok(chunks.length <= 1 || tokens + rows <= budget.tokensPerStepMax, `${context}: tokens`);
  for (const group of plan.lanes.flatMap((entry) => entry.prefillGroups)) {
    const real = group.reduce((sum, chunk) => sum + chunk.count, 0);
    const padded = group.length * Math.max(...group.map((chunk) => chunk.count));
    assert.ok(real >= 0.75 * padded, `${context}: padding`);
  }
};

const apply = (plan: StepPlan, running: readonly Simulated[], before: readonly LaneLoad[]): void => {
  for (const load of before) {
    const entry = plan.lanes.find((candidate) => candidate.laneId === load.laneId);
    assert.equal(entry?.decodes ?? false, load.decodingCount > 0, "rows always go on");
  }
  for (const item of running) {
    if (item.computedCount === item.prompt.tokenCount) item.generatedCount += 1;
  }
  for (const { key, start, count } of plan.lanes.flatMap((entry) => entry.prefillGroups.flat())) {
    const item = running.find((candidate) => candidate.prompt.key === key);
    assert.ok(item !== undefined && item.computedCount === start, "parts follow one another");
    item.computedCount += count;
  }
};

test("keeps every invariant over random days", () => {
  for (let seed = 1; seed <= 30; seed++) simulate(seed);
});
