// Simulates the scheduler with clients that come at random, abort and flood it, while slots and memory are full. Rows
// and prompts are only numbers here, and call times follow a linear function. Every invariant is checked at every step.
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom, type Random } from "../../../base/domain/random.ts";
import { searchCount, searchSeeds } from "../../../base/domain/testing/search.ts";
import { laneBytes } from "../cache/kv-cache.ts";
import { expectedMs, type CallCosts } from "./call-times.ts";
import { planCalls, prefillWork, type PlannedCall, type PlannedPrompt } from "./plan-calls.ts";
import { promptMsMax } from "../loop/call-pace.ts";
import { noTurns, type Turns } from "./prompt-turns.ts";
import { choosePreempted, planAdmissions } from "./scheduler.ts";
import { compareRanks, type LaneLoad, type SlotHolder, type StepBudget } from "./slot-holder.ts";

const budget: StepBudget = {
  slotCountMax: 8,
  kvCacheBytesMax: 100_000,
  bytesPerPosition: 10,
  bytesPerSlot: 0,
  tokensPerStepMax: 100,
  promptChunkTokens: 40,
  logprobTokensPerStepMax: 30,
};

/** The fixed cost of a call equals the cost of 24 tokens. */
const cost = { callMs: 24, tokenMs: 1, pairMs: 1e-4 };
const costs: CallCosts = { first: cost, later: cost, decode: cost };
/**
 * Time that prompts may take in any step. It is enough for a call with the smallest part of a prompt, and for a few
 * last tokens of the prompt that join this part.
 */
const partMsMax = expectedMs(cost, { tokenCount: 32, pairCount: 32 * 200 });

interface Simulated extends PlannedPrompt, SlotHolder {
  readonly name: number;
  readonly answerCount: number;
  computedCount: number;
  generatedCount: number;
}

const isPrompt = ({ computedCount, tokenIds }: Simulated): boolean => computedCount < tokenIds.length;

const arrival = (random: Random, name: number): Simulated => {
  const tokenCount = 1 + random.index(120);
  const answerCount = 1 + random.index(60);
  const laneId = `lane ${random.index(3)}`;
  const owner = `owner ${random.index(3)}`;
  const sharedCount = [0, 20, 50, 120][random.index(4)];
  return {
    name,
    laneId,
    owner,
    slotCount: 1 + random.index(4),
    positionCountMax: tokenCount + answerCount,
    prefixScope: random.index(4) === 0 ? null : `${laneId} ${owner}`,
    tokenIds: Array.from({ length: tokenCount }, (_, index) => (index < sharedCount ? 0 : name + 1)),
    priority: 0,
    arrival: name,
    needsLogprobs: false,
    branchCount: 0,
    answerCount,
    computedCount: 0,
    generatedCount: 0,
  };
};

/** Returns the length of the prefix that two prompts of one scope share. */
const commonCount = (one: Simulated, other: Simulated): number => {
  if (one.prefixScope === null || one.prefixScope !== other.prefixScope) return 0;
  const end = Math.min(one.tokenIds.length, other.tokenIds.length);
  let count = 0;
  while (count < end && one.tokenIds[count] === other.tokenIds[count]) count += 1;
  return count;
};

/**
 * Returns how many tokens of a prompt count as computed after the prompt has read the cache, if reading is worthwhile.
 */
const countAfterReading = (item: Simulated, kept: readonly Simulated[]): number => {
  const found = Math.max(0, ...kept.map((other) => Math.min(other.computedCount, commonCount(item, other))));
  const count = Math.min(found, item.tokenIds.length - 1);
  return count - item.computedCount < 32 ? item.computedCount : count;
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

const groupsOf = (calls: Calls) => calls.flatMap((call) => (call.kind === "prefill" ? [call] : []));

const decodeMs = (load: LaneLoad): number =>
  expectedMs(cost, { tokenCount: load.decodingCount, pairCount: 0 });

/** Returns the maximum time for prompts in a step. */
const msMaxOf = (running: readonly Simulated[]): number => {
  const owners = new Map<string, { rowCount: number; prefillCount: number }>();
  for (const item of running) {
    const load = owners.get(item.owner) ?? { rowCount: 0, prefillCount: 0 };
    owners.set(item.owner, load);
    load[isPrompt(item) ? "prefillCount" : "rowCount"] += item.slotCount;
  }
  const rowsMs = loads(running)
    .filter(({ decodingCount }) => decodingCount > 0)
    .reduce((sum, load) => sum + decodeMs(load), 0);
  return promptMsMax(rowsMs, owners.values());
};

const checkStep = (running: readonly Simulated[], calls: Calls, msMax: number, context: string): void => {
  const after = loads(running);
  const bytes = after.reduce(
    (sum, load) => sum + laneBytes(load.slotCount, load.positionCountMax, budget),
    0,
  );
  assert.ok(bytes <= budget.kvCacheBytesMax, `${context}: memory`);
  assert.ok(after.reduce((sum, load) => sum + load.slotCount, 0) <= budget.slotCountMax, `${context}: slots`);
  const groups = groupsOf(calls);
  const chunks = groups.flatMap((group) => group.chunks);
  assert.equal(
    new Set(chunks.map(({ prompt }) => prompt)).size,
    chunks.length,
    `${context}: one part a prompt`,
  );
  const tokens = chunks.reduce((sum, chunk) => sum + chunk.count, 0);
  const rows = after.reduce((sum, load) => sum + load.decodingCount, 0);
  assert.ok(chunks.length <= 1 || tokens + rows <= budget.tokensPerStepMax, `${context}: tokens`);
  const ms = groups.reduce((sum, group) => sum + expectedMs(cost, prefillWork(group)), 0);
  // The tolerance allows for the last few tokens of a prompt, which may be computed beyond the limit.
  assert.ok(ms <= Math.max(1.25 * msMax + 10, partMsMax), `${context}: time`);
  assert.equal(chunks.length > 0, running.some(isPrompt), `${context}: prompts always continue`);
  for (const { chunks: group } of groups) {
    const isFirst = group[0].start === 0;
    const real = group.reduce((sum, chunk) => sum + chunk.count, 0);
    const padded = group.length * Math.max(...group.map((chunk) => chunk.count));
    assert.ok(isFirst ? real >= 0.75 * padded : group.length <= 4, `${context}: parts of a call`);
    assert.ok(
      group.every(({ start }) => (start === 0) === isFirst),
      `${context}: first or later parts`,
    );
    assert.equal(new Set(group.map(({ prompt }) => prompt.laneId)).size, 1, `${context}: one lane`);
  }
  for (const load of after) {
    const decodes = calls.some(({ kind, laneId }) => kind === "decode" && laneId === load.laneId);
    assert.equal(decodes, load.decodingCount > 0, `${context}: rows always continue`);
  }
};

/**
 * Checks that no prompt computes tokens that another prompt is about to compute for it. Also checks that no prompt
 * waits for tokens that no prompt computes.
 */
const checkSharing = (started: readonly Simulated[], calls: Calls, context: string): void => {
  const chunks = groupsOf(calls).flatMap((group) => group.chunks);
  for (const { prompt, start } of chunks) {
    if (prompt.tokenIds.length <= start + 32) continue;
    const isComputedTwice = chunks.some(
      (other) =>
        other.prompt !== prompt && other.start === start && commonCount(prompt, other.prompt) >= start + 32,
    );
    assert.ok(!isComputedTwice, `${context}: prompt ${prompt.name} of ${started.length}`);
  }
};

const apply = (calls: Calls, running: readonly Simulated[], context: string): void => {
  const decoding = running.filter((item) => !isPrompt(item));
  for (const item of decoding) item.generatedCount += 1;
  for (const { prompt: item, start, count } of groupsOf(calls).flatMap(({ chunks }) => chunks)) {
    assert.ok(running.includes(item) && item.computedCount === start, `${context}: parts follow one another`);
    item.computedCount += count;
  }
};

/** Starts and preempts prompts as the engine's loop does. */
const startAndStop = (queue: Simulated[], running: Simulated[], context: string): void => {
  const preempted = choosePreempted(queue, running, budget);
  assert.deepEqual(preempted, choosePreempted(queue, running, budget), context);
  for (const item of preempted) {
    running.splice(running.indexOf(item), 1);
    item.computedCount = 0;
  }
  const admitted = planAdmissions(queue, { lanes: loads(running), running }, budget);
  for (const item of admitted) {
    queue.splice(queue.indexOf(item), 1);
    running.push(item);
  }
  checkFairness(queue, running, admitted, context);
  queue.push(...preempted);
  queue.sort(compareRanks);
};

const shareOf = ({ slotCount, positionCountMax }: Simulated): number =>
  slotCount *
  Math.max(1 / budget.slotCountMax, (positionCountMax * budget.bytesPerPosition) / budget.kvCacheBytesMax);

const shareOfOwner = (running: readonly Simulated[], owner: string): number =>
  running.filter((item) => item.owner === owner).reduce((sum, item) => sum + shareOf(item), 0);

/**
 * Checks that a prompt waits only if there is not enough free room, and preempting an owner with a larger share would
 * not make enough.
 */
const checkFairness = (
  queue: readonly Simulated[],
  running: readonly Simulated[],
  begun: readonly Simulated[],
  context: string,
): void => {
  const shareBy = (item: Simulated): number => shareOfOwner(running, item.owner);
  const [next] = queue.toSorted((one, other) => shareBy(one) - shareBy(other) || compareRanks(one, other));
  if (next === undefined) return;
  const fits = (items: readonly Simulated[]): boolean =>
    items.reduce((sum, { slotCount }) => sum + slotCount, 0) <= budget.slotCountMax &&
    loads(items).reduce((sum, load) => sum + laneBytes(load.slotCount, load.positionCountMax, budget), 0) <=
      budget.kvCacheBytesMax;
  assert.ok(!fits([...running, next]), `${context}: ${next.name} waits for nothing`);
  for (const holder of running) {
    if (holder.owner === next.owner || begun.includes(holder)) continue;
    if (shareBy(holder) - shareOf(holder) < shareBy(next) + shareOf(next) - 1e-9) continue;
    const exchanged = running.filter((item) => item !== holder);
    assert.ok(!fits([...exchanged, next]), `${context}: ${next.name} waits while ${holder.owner} holds more`);
  }
};

/**
 * Simulates one schedule.
 *
 * @returns number of clients that came
 */
const simulate = (seed: number): number => {
  const random = seededRandom("scheduler", seed);
  const context = `seed ${seed}`;
  const arrivals = Array.from({ length: 800 }, (_, name) => arrival(random, name));
  const arrivalCount = arrivals.length;
  const rate = [0.05, 0.2, 1][random.index(3)];
  const queue: Simulated[] = [];
  const running: Simulated[] = [];
  /** Prompts whose computed tokens are still cached. */
  let kept: readonly Simulated[] = [];
  let turns: Turns = noTurns;
  for (let step = 0; arrivals.length + queue.length + running.length > 0; step++) {
    assert.ok(step < 200 * arrivalCount, `${context}: no request starves`);
    while (arrivals.length > 0 && queue.length < 30 && random.uniform() < rate)
      queue.push(arrivals.shift() as Simulated);
    startAndStop(queue, running, context);
    const started = running.filter(isPrompt).sort(compareRanks);
    for (const item of started) item.computedCount = countAfterReading(item, kept);
    const msMax = msMaxOf(running);
    const options = { time: { msMax, costs }, turns };
    const plan = planCalls(started, loads(running), budget, options);
    assert.deepEqual(plan, planCalls(started, loads(running), budget, options), context);
    checkStep(running, plan.calls, msMax, context);
    checkSharing(started, plan.calls, context);
    apply(plan.calls, running, context);
    turns = plan.turns;
    kept = [...new Set([...started, ...kept])].slice(0, 8);
    for (const item of running.slice()) {
      const isAborted = random.index(60) === 0;
      if (isAborted || item.generatedCount >= item.answerCount) running.splice(running.indexOf(item), 1);
    }
  }
  return arrivalCount;
};

/**
 * Simulates an owner that always has more waiting requests than there is room for, and other owners that send requests
 * occasionally.
 */
const simulateFlood = (seed: number): void => {
  const random = seededRandom("flood", seed);
  const context = `flood, seed ${seed}`;
  const queue: Simulated[] = [];
  const running: Simulated[] = [];
  /** For each occasional prompt, the step at which it arrived, and the number of prompt tokens computed until then. */
  const came = new Map<Simulated, { readonly step: number; readonly servedCount: number }>();
  let turns: Turns = noTurns;
  let servedCount = 0;
  let arrivalCount = 0;
  const arrive = (owner: string, tokenCount: number, answerCount: number): Simulated => {
    const base = arrival(random, arrivalCount++);
    const tokenIds = Array.from({ length: tokenCount }, () => 1);
    const item: Simulated = {
      ...base,
      owner,
      laneId: "a",
      slotCount: 1,
      prefixScope: null,
      tokenIds,
      answerCount,
      positionCountMax: 512,
    };
    queue.push(item);
    return item;
  };
  for (let step = 0; step < 1500; step++) {
    while (queue.filter(({ owner }) => owner === "flood").length < 12)
      arrive("flood", 1 + random.index(100), 400);
    for (const owner of ["b", "c", "d"]) {
      const isHere = [...queue, ...running].some((item) => item.owner === owner);
      if (isHere || random.index(30) > 0) continue;
      came.set(arrive(owner, 1 + random.index(100), 1 + random.index(20)), { step, servedCount });
    }
    startAndStop(queue, running, context);
    const started = running.filter(isPrompt).sort(compareRanks);
    const msMax = msMaxOf(running);
    const plan = planCalls(started, loads(running), budget, { time: { msMax, costs }, turns });
    turns = plan.turns;
    apply(plan.calls, running, context);
    servedCount += groupsOf(plan.calls).reduce(
      (sum, { chunks }) => sum + chunks.reduce((tokens, { count }) => tokens + count, 0),
      0,
    );
    for (const [item, since] of came) {
      if (step === since.step)
        assert.ok(running.includes(item), `${context}: ${item.name} starts immediately`);
      if (isPrompt(item)) continue;
      // Half of the tokens go to the prompt with the shortest remainder, the other half in turn to four owners. Each
      // part has at most `promptChunkTokens` tokens.
      const bound = 2 * 4 * (item.tokenIds.length + 2 * budget.promptChunkTokens);
      assert.ok(servedCount - since.servedCount <= bound, `${context}: ${item.name} waited for its prompt`);
      came.delete(item);
    }
    for (const item of running.slice())
      if (item.generatedCount >= item.answerCount) running.splice(running.indexOf(item), 1);
  }
  assert.ok(arrivalCount > 100, context);
};

test("an occasional client starts immediately and soon has its prompt, however much another one sends", () => {
  for (const seed of searchSeeds(1)) simulateFlood(seed);
});

test("keeps every invariant over random days with hundreds of arrivals", () => {
  let arrivalCount = 0;
  for (const seed of searchSeeds(1)) arrivalCount += simulate(seed);
  assert.ok(arrivalCount >= searchCount(800));
});
