import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom, type Random } from "../../domain/random.ts";
import { laneBytes } from "../cache/kv-cache.ts";
import {
  choosePreempted,
  planAdmissions,
  planCalls,
  compareRanks,
  slotsThatFit,
  type LaneLoad,
  type PlannedCall,
  type PlannedPrompt,
  type StepBudget,
} from "./scheduler.ts";
import { searchSeeds } from "../../domain/testing/search.ts";

/** A prompt with a name for the tests. */
interface NamedPrompt extends PlannedPrompt {
  readonly name: number;
}

const budget: StepBudget = {
  slotCountMax: 8,
  kvCacheBytesMax: 100_000,
  bytesPerPosition: 10,
  tokensPerStepMax: 100,
  promptChunkTokens: 40,
  logprobTokensPerStepMax: 30,
};

const prompt = (name: number, tokenCount: number, more: Partial<NamedPrompt> = {}): NamedPrompt => ({
  name,
  laneId: "a",
  prefixScope: null,
  tokenIds: Array.from({ length: tokenCount }, () => name),
  computedCount: 0,
  slotCount: 1,
  positionCountMax: tokenCount + 20,
  priority: 0,
  arrival: name,
  needsLogprobs: false,
  ...more,
});

/** Prompts of one scope that begin alike: `sharedCount` tokens in common, then each its own. */
const alike = (name: number, tokenCount: number, sharedCount: number, more: Partial<NamedPrompt> = {}) =>
  prompt(name, tokenCount, {
    prefixScope: "s",
    tokenIds: Array.from({ length: tokenCount }, (_, index) => (index < sharedCount ? 0 : name)),
    ...more,
  });

const lane = (laneId: string, slotCount: number, decodingCount: number): LaneLoad => ({
  laneId,
  slotCount,
  positionCountMax: 64,
  decodingCount,
});

/** What starts, and all that is computed then. */
interface Step<Prompt> {
  readonly admitted: readonly Prompt[];
  readonly calls: readonly PlannedCall<Prompt>[];
}

/** As the loop does, with nothing found in memory that a waiting prompt does not have already. */
function planStep(
  waiting: readonly NamedPrompt[],
  started: readonly NamedPrompt[],
  lanes: readonly LaneLoad[],
  stepBudget: StepBudget,
): Step<NamedPrompt> {
  const admitted = planAdmissions(waiting, lanes, stepBudget);
  const open = new Set(lanes.map(({ laneId }) => laneId));
  const prompts = [...started, ...admitted].sort(compareRanks);
  const opened = new Set(prompts.map(({ laneId }) => laneId).filter((laneId) => !open.has(laneId)));
  const loads = [...lanes, ...[...opened].map((laneId) => lane(laneId, 0, 0))];
  return { admitted, calls: planCalls(prompts, loads, stepBudget) };
}

/** Names of those admitted, then for each lane its calls in order: `decode`, or chunks as `name:start+count`. */
const check = (
  input: {
    readonly waiting?: readonly NamedPrompt[];
    readonly started?: readonly NamedPrompt[];
    readonly lanes?: readonly LaneLoad[];
    readonly budget?: Partial<StepBudget>;
  },
  expected: { readonly admitted: readonly number[]; readonly lanes: Readonly<Record<string, string>> },
): void => {
  const plan = planStep(input.waiting ?? [], input.started ?? [], input.lanes ?? [], {
    ...budget,
    ...input.budget,
  });
  assert.deepEqual(
    plan.admitted.map(({ name }) => name),
    expected.admitted,
  );
  const lanes: Record<string, string> = {};
  for (const call of plan.calls) {
    const before = lanes[call.laneId];
    lanes[call.laneId] = before === undefined ? describe(call) : `${before} | ${describe(call)}`;
  }
  assert.deepEqual(lanes, expected.lanes);
};

const describe = (call: PlannedCall<NamedPrompt>): string =>
  call.kind === "decode"
    ? "decode"
    : call.chunks.map(({ prompt: { name }, start, count }) => `${name}:${start}+${count}`).join(" ");

test("does nothing where there is nothing to do", () => {
  check({}, { admitted: [], lanes: {} });
});

test("admits the oldest first and computes short prompts of like length together", () => {
  check(
    { waiting: [prompt(1, 10), prompt(2, 9), prompt(3, 3)] },
    { admitted: [1, 2, 3], lanes: { a: "1:0+10 2:0+9 | 3:0+3" } },
  );
});

test("computes a long prompt in parts of the same size, whatever else runs", () => {
  check({ waiting: [prompt(1, 90)] }, { admitted: [1], lanes: { a: "1:0+40" } });
  check(
    { started: [prompt(1, 90, { computedCount: 40 })], lanes: [lane("a", 4, 3)] },
    { admitted: [], lanes: { a: "decode | 1:40+40" } },
  );
  check(
    { started: [prompt(1, 90, { computedCount: 80 })], lanes: [lane("a", 1, 0)] },
    { admitted: [], lanes: { a: "1:80+10" } },
  );
});

test("computes few tokens of prompts whose log-probabilities are wanted, and lets others pass meanwhile", () => {
  const needy = (name: number, tokenCount: number): NamedPrompt =>
    prompt(name, tokenCount, { needsLogprobs: true });
  check(
    { started: [needy(1, 90), needy(2, 20), prompt(3, 40)] },
    { admitted: [], lanes: { a: "3:0+40 1:0+30" } },
  );
  check({ started: [needy(1, 10), needy(2, 20)] }, { admitted: [], lanes: { a: "2:0+20 1:0+10" } });
  check({ started: [needy(1, 10), needy(2, 21)] }, { admitted: [], lanes: { a: "1:0+10" } });
});

test("gives the oldest prompt its part even where the rows use up the tokens of the step", () => {
  check(
    {
      started: [prompt(1, 40)],
      lanes: [lane("a", 5, 4)],
      budget: { tokensPerStepMax: 4 },
    },
    { admitted: [], lanes: { a: "decode | 1:0+40" } },
  );
});

test("keeps lanes apart and runs each that has work", () => {
  check(
    { waiting: [prompt(1, 10, { laneId: "b" }), prompt(2, 10)], lanes: [lane("a", 2, 2), lane("c", 1, 1)] },
    { admitted: [1, 2], lanes: { a: "decode | 2:0+10", b: "1:0+10", c: "decode" } },
  );
});

test("lets nothing overtake the oldest prompt that does not fit", () => {
  check(
    { waiting: [prompt(1, 10, { slotCount: 4 }), prompt(2, 10)], lanes: [lane("a", 6, 6)] },
    { admitted: [], lanes: { a: "decode" } },
  );
});

test("admits only what memory is set aside for", () => {
  // 64 positions of 10 bytes a slot: two slots take 1280 bytes, three as much as four 2560.
  const tight = { kvCacheBytesMax: 2559 };
  check(
    { waiting: [prompt(1, 10), prompt(2, 10), prompt(3, 10)], budget: tight },
    { admitted: [1, 2], lanes: { a: "1:0+10 2:0+10" } },
  );
  check(
    { waiting: [prompt(1, 10), prompt(2, 10), prompt(3, 10)], budget: { kvCacheBytesMax: 2560 } },
    { admitted: [1, 2, 3], lanes: { a: "1:0+10 2:0+10 3:0+10" } },
  );
});

test("says how many choices fit at once", () => {
  assert.equal(slotsThatFit(64, { slotCountMax: 8, kvCacheBytesMax: 640 * 4, bytesPerPosition: 10 }), 4);
  assert.equal(slotsThatFit(64, { slotCountMax: 3, kvCacheBytesMax: 640 * 4, bytesPerPosition: 10 }), 3);
  assert.equal(slotsThatFit(65, { slotCountMax: 3, kvCacheBytesMax: 1279, bytesPerPosition: 10 }), 0);
});

test("begins an admitted prompt where what was found in memory ends", () => {
  check(
    { waiting: [prompt(1, 90, { computedCount: 64 }), prompt(2, 20)] },
    { admitted: [1, 2], lanes: { a: "2:0+20 | 1:64+26" } },
  );
});

test("computes later parts of like length together, and never with first ones", () => {
  const started = [
    prompt(1, 90, { computedCount: 60 }),
    prompt(2, 70, { computedCount: 40 }),
    prompt(3, 50, { computedCount: 45 }),
  ];
  check(
    { started, waiting: [prompt(4, 30)], lanes: [lane("a", 3, 0)] },
    { admitted: [4], lanes: { a: "4:0+30 | 1:60+30 2:40+30 | 3:45+5" } },
  );
});

test("a better priority is computed first, whenever it came", () => {
  check(
    {
      started: [prompt(1, 40, { priority: 1 })],
      waiting: [prompt(2, 30)],
      lanes: [lane("a", 1, 0)],
      budget: { tokensPerStepMax: 30 },
    },
    { admitted: [2], lanes: { a: "2:0+30" } },
  );
});

test("of prompts that begin alike the first computes for all, and the others wait meanwhile", () => {
  check(
    { waiting: [alike(1, 60, 40), alike(2, 50, 40), prompt(3, 40)] },
    { admitted: [1, 2, 3], lanes: { a: "1:0+40 3:0+40" } },
  );
  const computed = { computedCount: 40 };
  check(
    { started: [alike(1, 90, 90, computed), alike(2, 90, 90, computed)] },
    { admitted: [], lanes: { a: "1:40+40" } },
  );
});

test("nobody waits for few tokens, nor for what was not kept, nor where nothing is shared", () => {
  check(
    { waiting: [alike(1, 40, 31), alike(2, 40, 31)] },
    { admitted: [1, 2], lanes: { a: "1:0+40 2:0+40" } },
  );
  check(
    { waiting: [alike(1, 32, 32), alike(2, 32, 32)] },
    { admitted: [1, 2], lanes: { a: "1:0+32 2:0+32" } },
  );
  check({ waiting: [alike(1, 33, 33), alike(2, 33, 33)] }, { admitted: [1, 2], lanes: { a: "1:0+33" } });
  check(
    { started: [alike(1, 80, 80, { computedCount: 40 })], waiting: [alike(2, 40, 40)] },
    { admitted: [2], lanes: { a: "2:0+40 | 1:40+40" } },
  );
  for (const more of [{ prefixScope: null }, { prefixScope: "t" }]) {
    check(
      { waiting: [alike(1, 40, 40), alike(2, 40, 40, more)] },
      { admitted: [1, 2], lanes: { a: "1:0+40 2:0+40" } },
    );
  }
});

test("who waited goes on by itself when the one before is gone", () => {
  check({ started: [alike(2, 40, 40), alike(3, 40, 40)] }, { admitted: [], lanes: { a: "2:0+40" } });
});

/** Who must stop, by name and in the order in which they are listed, for what waits. */
const checkPreempted = (
  waiting: readonly NamedPrompt[],
  running: readonly NamedPrompt[],
  expected: readonly number[],
  more: Partial<StepBudget> = {},
): void => {
  const chosen = choosePreempted(waiting, running, { ...budget, ...more });
  assert.deepEqual(
    chosen.map(({ name }) => name),
    expected,
  );
};

test("nobody stops for what has no better priority, nor where there is room", () => {
  const running = [prompt(1, 10, { slotCount: 7, priority: 1 })];
  checkPreempted([], running, []);
  checkPreempted([prompt(2, 10)], running, []);
  checkPreempted([prompt(2, 10, { slotCount: 2, priority: 1 })], running, []);
  checkPreempted([prompt(2, 10, { slotCount: 2, priority: 3 })], running, []);
});

test("the last of the worst priority stops first, and no more than are needed", () => {
  const running = [
    prompt(1, 10, { slotCount: 2, priority: 2 }),
    prompt(2, 10, { slotCount: 2, priority: 1 }),
    prompt(3, 10, { slotCount: 2, priority: 2 }),
    prompt(4, 10, { slotCount: 2, priority: 0 }),
  ];
  checkPreempted([prompt(5, 10)], running, [3]);
  checkPreempted([prompt(5, 10, { slotCount: 3 })], running, [1, 3]);
  checkPreempted([prompt(5, 10, { slotCount: 6 })], running, [1, 2, 3]);
  checkPreempted([prompt(5, 10, { slotCount: 7 })], running, []);
});

test("nobody stops in vain: neither where it makes no room, nor who frees nothing that is needed", () => {
  // 64 positions of 10 bytes: a lane of three takes as much as one of four.
  const tight = { kvCacheBytesMax: 5 * 640 };
  const inLane = (name: number, laneId: string, priority: number) => prompt(name, 10, { laneId, priority });
  const running = [
    inLane(1, "a", 2),
    inLane(2, "b", 1),
    inLane(3, "b", 1),
    inLane(4, "b", 3),
    inLane(5, "b", 1),
  ];
  checkPreempted([inLane(6, "c", 0)], running, [1], tight);
  checkPreempted([inLane(6, "c", 2)], running, [], tight);
  checkPreempted([inLane(6, "a", 1)], running, [1], tight);
  checkPreempted([{ ...inLane(6, "c", 0), slotCount: 6 }], running, [], tight);
});

test("several that wait are made room for in their order", () => {
  const running = [1, 2, 3, 4].map((name) => prompt(name, 10, { slotCount: 2, priority: 5 }));
  const waiting = [
    prompt(5, 10, { slotCount: 2, priority: 1 }),
    prompt(6, 10, { slotCount: 3, priority: 2 }),
    prompt(7, 10, { slotCount: 4, priority: 3 }),
    prompt(8, 10, { slotCount: 1, priority: 4 }),
  ];
  checkPreempted(waiting.slice(0, 1), running, [4]);
  checkPreempted(waiting.slice(0, 2), running, [2, 3, 4]);
  // The third does not fit beside the first two, so nothing stops for the fourth, though it would fit.
  checkPreempted(waiting, running, [2, 3, 4]);
});

interface Simulated extends NamedPrompt {
  readonly answerCount: number;
  computedCount: number;
  generatedCount: number;
}

/** A random day of requests, some of which are aborted; every invariant is checked at every step. */
const simulate = (seed: number): void => {
  const random = seededRandom("scheduler", seed);
  const context = `seed ${seed}`;
  const arrivals = Array.from({ length: 40 }, (_, name) => arrival(random, name));
  const queue: Simulated[] = [];
  const running: Simulated[] = [];
  const admittedOrder: number[] = [];
  /** Beginnings of prompts that were computed and are still kept, by scope. */
  const kept = new Set<string>();
  for (let step = 0; arrivals.length + queue.length + running.length > 0; step++) {
    assert.ok(step < 3000, `${context}: nobody starves`);
    while (arrivals.length > 0 && random.uniform() < 0.3) queue.push(arrivals.shift() as Simulated);
    const before = loads(running);
    const admitted = planAdmissions(queue, before, budget);
    assert.deepEqual(admitted, planAdmissions(queue, before, budget), context);
    admittedOrder.push(...admitted.map(({ name }) => name));
    running.push(...queue.splice(0, admitted.length));
    const started = running.filter(isPrompt).sort(compareRanks);
    for (const item of started) item.computedCount = Math.max(item.computedCount, keptCount(kept, item));
    const after = loads(running);
    const calls = planCalls(started, after, budget);
    assert.deepEqual(calls, planCalls(started, after, budget), context);
    checkBudget(running, calls, context);
    checkWaiting(started, calls, context);
    apply(calls, running, after);
    for (const item of started) keep(kept, item);
    for (const beginning of kept) if (random.index(40) === 0) kept.delete(beginning);
    for (const item of running.slice()) {
      const isAborted = random.index(60) === 0;
      if (isAborted || item.generatedCount >= item.answerCount) running.splice(running.indexOf(item), 1);
    }
  }
  assert.deepEqual(
    admittedOrder,
    admittedOrder.toSorted((a, b) => a - b),
    `${context}: first come, first served`,
  );
};

const isPrompt = ({ computedCount, tokenIds }: Simulated): boolean => computedCount < tokenIds.length;

const arrival = (random: Random, name: number): Simulated => {
  const tokenCount = 1 + random.index(120);
  const answerCount = 1 + random.index(60);
  const more = {
    laneId: `lane ${random.index(3)}`,
    slotCount: 1 + random.index(4),
    positionCountMax: tokenCount + answerCount,
  };
  const sharedCount = [0, 20, 50, 120][random.index(4)];
  const prefixScope = random.index(4) === 0 ? null : more.laneId;
  const base = alike(name + 1, tokenCount, sharedCount, { ...more, prefixScope });
  return { ...base, answerCount, computedCount: 0, generatedCount: 0 };
};

const beginningOf = ({ prefixScope, tokenIds }: Simulated, count: number): string =>
  `${prefixScope}: ${tokenIds.slice(0, count).join(" ")}`;

const keep = (kept: Set<string>, item: Simulated): void => {
  for (let count = 1; count <= item.computedCount; count++) kept.add(beginningOf(item, count));
};

const keptCount = (kept: ReadonlySet<string>, item: Simulated): number => {
  let count = 0;
  while (count < item.tokenIds.length - 1 && kept.has(beginningOf(item, count + 1))) count += 1;
  return item.prefixScope === null ? 0 : count;
};

const loads = (running: readonly Simulated[]): readonly LaneLoad[] => {
  const ids = [...new Set(running.map((item) => item.laneId))];
  return ids.map((laneId) => {
    const inLane = running.filter((item) => item.laneId === laneId);
    const decoding = inLane.filter((item) => !isPrompt(item));
    return {
      laneId,
      slotCount: inLane.reduce((sum, item) => sum + item.slotCount, 0),
      positionCountMax: Math.max(...inLane.map((item) => item.positionCountMax)),
      decodingCount: decoding.reduce((sum, item) => sum + item.slotCount, 0),
    };
  });
};

type Calls = readonly PlannedCall<Simulated>[];

const groupsOf = (calls: Calls) => calls.flatMap((call) => (call.kind === "prefill" ? [call.chunks] : []));

const checkBudget = (running: readonly Simulated[], calls: Calls, context: string): void => {
  const after = loads(running);
  const bytes = after.reduce(
    (sum, load) => sum + laneBytes(load.slotCount, load.positionCountMax, budget.bytesPerPosition),
    0,
  );
  assert.ok(bytes <= budget.kvCacheBytesMax, `${context}: memory`);
  assert.ok(after.reduce((sum, load) => sum + load.slotCount, 0) <= budget.slotCountMax, `${context}: slots`);
  const chunks = groupsOf(calls).flat();
  assert.equal(
    new Set(chunks.map((chunk) => chunk.prompt)).size,
    chunks.length,
    `${context}: one part a prompt`,
  );
  const tokens = chunks.reduce((sum, chunk) => sum + chunk.count, 0);
  const rows = after.reduce((sum, load) => sum + load.decodingCount, 0);
  assert.ok(chunks.length <= 1 || tokens + rows <= budget.tokensPerStepMax, `${context}: tokens`);
  for (const group of groupsOf(calls)) {
    const real = group.reduce((sum, chunk) => sum + chunk.count, 0);
    const padded = group.length * Math.max(...group.map((chunk) => chunk.count));
    assert.ok(real >= 0.75 * padded, `${context}: padding`);
    assert.equal(new Set(group.map(({ start }) => start === 0)).size, 1, `${context}: first or later parts`);
    assert.equal(new Set(group.map((chunk) => chunk.prompt.laneId)).size, 1, `${context}: one lane`);
  }
};

/** Who is passed over before the last that is computed has what it needs next computed in this step; the first never is. */
const checkWaiting = (started: readonly Simulated[], calls: Calls, context: string): void => {
  const chunks = groupsOf(calls).flat();
  const places = chunks.map((chunk) => started.indexOf(chunk.prompt));
  if (started.length > 0) assert.ok(places.includes(0), `${context}: the first goes on`);
  started.slice(0, Math.max(0, ...places)).forEach((item, place) => {
    if (places.includes(place)) return;
    const neededNext = beginningOf(item, item.computedCount + 32);
    const isComputed = chunks.some(
      ({ prompt: other, start }) =>
        start === item.computedCount && beginningOf(other, start + 32) === neededNext,
    );
    assert.ok(isComputed, `${context}: prompt ${item.name} waits for nothing`);
  });
};

const apply = (calls: Calls, running: readonly Simulated[], before: readonly LaneLoad[]): void => {
  for (const load of before) {
    const decodes = calls.some(({ kind, laneId }) => kind === "decode" && laneId === load.laneId);
    assert.equal(decodes, load.decodingCount > 0, "rows always go on");
  }
  const decoding = running.filter((item) => !isPrompt(item));
  for (const item of decoding) item.generatedCount += 1;
  for (const { prompt: item, start, count } of groupsOf(calls).flat()) {
    assert.ok(running.includes(item) && item.computedCount === start, "parts follow one another");
    item.computedCount += count;
  }
};

test("keeps every invariant over random days", () => {
  for (const seed of searchSeeds(15)) simulate(seed);
});
