import assert from "node:assert/strict";
import { test } from "node:test";
import type { CallCosts } from "./call-times.ts";
import { planCalls, prefillWork, type PlannedCall, type PlannedPrompt } from "./plan-calls.ts";
import { noTurns, type Turns } from "./prompt-turns.ts";
import type { LaneLoad, StepBudget } from "./slot-holder.ts";
import { smallBudget as budget } from "../testing/step-budget.ts";

/** A prompt that the tests identify by a number. */
interface NamedPrompt extends PlannedPrompt {
  readonly name: number;
}

const prompt = (name: number, tokenCount: number, more: Partial<NamedPrompt> = {}): NamedPrompt => ({
  name,
  laneId: "a",
  prefixScope: null,
  tokenIds: Array.from({ length: tokenCount }, () => name),
  computedCount: 0,
  priority: 0,
  arrival: name,
  owner: "",
  needsLogprobs: false,
  branchCount: 0,
  ...more,
});

/** Creates one of several prompts that share a scope and their first `sharedCount` tokens, and differ after that. */
const alike = (name: number, tokenCount: number, sharedCount: number, more: Partial<NamedPrompt> = {}) =>
  prompt(name, tokenCount, {
    prefixScope: "s",
    tokenIds: Array.from({ length: tokenCount }, (_, index) => (index < sharedCount ? 0 : name)),
    ...more,
  });

const lane = (laneId: string, decodingCount = 0): LaneLoad => ({
  laneId,
  slotCount: decodingCount,
  positionCountMax: 64,
  decodingCount,
});

/** A call takes 10 ms and a token 1 ms. */
const cost = { callMs: 10, tokenMs: 1, pairMs: 0 };
const costs: CallCosts = { first: cost, later: cost, decode: null };

interface Given {
  readonly lanes?: readonly LaneLoad[];
  readonly budget?: Partial<StepBudget>;
  readonly msMax?: number;
  readonly costs?: CallCosts;
  readonly turns?: Turns;
}

const planOf = (prompts: readonly NamedPrompt[], given: Given) =>
  planCalls(
    prompts,
    given.lanes ?? [lane("a")],
    { ...budget, ...given.budget },
    {
      time: { msMax: given.msMax ?? Infinity, costs: given.costs ?? costs },
      turns: given.turns ?? noTurns,
    },
  );

/**
 * Checks the planned calls in their order. A call is written as the lane that decodes, or as chunks `name:start+count`.
 */
const check = (prompts: readonly NamedPrompt[], given: Given, expected: string): void => {
  const { calls } = planOf(prompts, given);
  assert.equal(calls.map(describe).join(" | "), expected);
};

const describe = (call: PlannedCall<NamedPrompt>): string =>
  call.kind === "decode"
    ? `decode ${call.laneId}`
    : call.chunks.map(({ prompt: { name }, start, count }) => `${name}:${start}+${count}`).join(" ");

test("plans nothing if there is no work", () => check([], {}, ""));

test("batches short prompts of similar length, the shortest first", () => {
  check([prompt(1, 10), prompt(2, 9), prompt(3, 3)], {}, "3:0+3 | 1:0+10 2:0+9");
});

test("prompts get parts of the maximum size if no rows wait for them", () => {
  check([prompt(1, 90)], {}, "1:0+40");
  check([prompt(1, 90, { computedCount: 40 })], {}, "1:40+40");
  check([prompt(1, 90, { computedCount: 80 })], {}, "1:80+10");
});

test("decodes the rows of all lanes before prompts", () => {
  const lanes = [lane("a", 2), lane("b"), lane("c", 1)];
  check([prompt(1, 10, { laneId: "b" }), prompt(2, 10)], { lanes }, "decode a | decode c | 1:0+10 | 2:0+10");
});

test("a part fills the available time, in whole blocks of attention", () => {
  check([prompt(1, 90)], { msMax: 45 }, "1:0+32");
  check([prompt(1, 90)], { msMax: 50 }, "1:0+40");
  check([prompt(1, 90, { computedCount: 40 })], { msMax: 34 }, "1:40+24");
});

test("a part has a minimum size, even without time and without estimates", () => {
  check([prompt(1, 90)], { msMax: 1 }, "1:0+16");
  check([prompt(1, 9)], { msMax: 1 }, "1:0+9");
  check([prompt(1, 90)], { msMax: 50, costs: { first: null, later: null, decode: null } }, "1:0+16");
});

test("a part exceeds the minimum size if a call's fixed cost is high and little time is added", () => {
  const slow = { callMs: 100, tokenMs: 1, pairMs: 0 };
  check(
    [prompt(1, 90)],
    { msMax: 20, budget: { promptChunkTokens: 90 }, costs: { ...costs, first: slow } },
    "1:0+48",
  );
});

test("the cost of attention makes later parts smaller", () => {
  const later = { ...cost, pairMs: 0.01 };
  check([prompt(1, 190)], { msMax: 50, costs: { ...costs, later } }, "1:0+40");
  check([prompt(1, 190, { computedCount: 100 })], { msMax: 50, costs: { ...costs, later } }, "1:100+16");
});

test("includes a small rest, and never leaves a single token", () => {
  check([prompt(1, 30)], { msMax: 35 }, "1:0+30");
  check([prompt(1, 31)], { msMax: 35 }, "1:0+24");
  check([prompt(1, 41)], {}, "1:0+39");
  check([prompt(1, 41, { computedCount: 39 })], {}, "1:39+2");
});

test("others share a step if time for a part of theirs is left", () => {
  const started = [prompt(1, 90, { computedCount: 60 }), prompt(2, 90, { computedCount: 40 })];
  check(started, { msMax: 45 }, "1:60+30");
  check(started, { msMax: 57 }, "1:60+30");
  check(started, { msMax: 58 }, "1:60+30 2:40+16");
  // The first part of another prompt needs a separate call, which costs additional time.
  check([started[0], prompt(3, 40)], { msMax: 67 }, "1:60+30");
  check([started[0], prompt(3, 40)], { msMax: 68 }, "1:60+30 | 3:0+16");
});

test("limits tokens of prompts whose log-probabilities are wanted, and lets others pass meanwhile", () => {
  const needy = (name: number, tokenCount: number): NamedPrompt =>
    prompt(name, tokenCount, { needsLogprobs: true });
  check([needy(1, 90), needy(2, 20), prompt(3, 40)], {}, "3:0+40 2:0+20");
  check([needy(1, 10), needy(2, 20)], {}, "2:0+20 1:0+10");
  check([needy(1, 10), needy(2, 21)], {}, "1:0+10");
});

test("gives the first prompt its part even if the rows use up the step's tokens", () => {
  check([prompt(1, 40)], { lanes: [lane("a", 4)], budget: { tokensPerStepMax: 4 } }, "decode a | 1:0+40");
});

test("batches at most as many later parts as their graph takes, and never with first ones", () => {
  const started = [1, 2, 3, 4, 5].map((name) => prompt(name, 50 + name, { computedCount: 45 }));
  check([...started, prompt(6, 30)], {}, "1:45+6 2:45+7 3:45+8 4:45+9 | 5:45+10 | 6:0+30");
});

test("computes a better priority first, regardless of length and arrival", () => {
  check([prompt(2, 40), prompt(1, 20, { priority: 1 })], { budget: { tokensPerStepMax: 40 } }, "2:0+40");
});

test("the first of prompts with a shared prefix computes it for all, and the others wait", () => {
  check([alike(1, 50, 40), alike(2, 60, 40), prompt(3, 40)], {}, "3:0+40 1:0+40");
  const computed = { computedCount: 40 };
  check([alike(1, 90, 90, computed), alike(2, 90, 90, computed)], {}, "1:40+40");
});

test("prompts wait for one that is a little ahead, also if it is not its turn", () => {
  check([alike(1, 90, 40, { computedCount: 16 }), alike(2, 50, 40), prompt(3, 9)], { msMax: 19 }, "3:0+9");
  check([alike(1, 90, 40, { computedCount: 16 }), alike(2, 50, 40)], { msMax: 26 }, "1:16+16");
  // The cache holds only 32 tokens of prompt 1, which is ahead, so prompt 2 does not wait for it.
  check([alike(1, 90, 40, { computedCount: 32 }), alike(2, 50, 40)], { msMax: 26 }, "2:0+16");
});

test("no prompt waits for one of worse priority", () => {
  const worse = { computedCount: 16, priority: 1 };
  check([alike(2, 50, 40), alike(1, 90, 40, worse)], { msMax: 26 }, "2:0+16");
});

test("no prompt waits for few tokens, for tokens that are not kept, or without a shared prefix", () => {
  check([alike(1, 40, 31), alike(2, 40, 31)], {}, "1:0+40 2:0+40");
  check([alike(1, 32, 32), alike(2, 32, 32)], {}, "1:0+32 2:0+32");
  check([alike(1, 33, 33), alike(2, 33, 33)], {}, "1:0+33");
  check([alike(1, 80, 80, { computedCount: 40 }), alike(2, 40, 40)], {}, "1:40+40 | 2:0+40");
  for (const more of [{ prefixScope: null }, { prefixScope: "t" }])
    check([alike(1, 40, 40), alike(2, 40, 40, more)], {}, "1:0+40 2:0+40");
});

test("a waiting prompt continues on its own when the one before it is gone", () => {
  check([alike(2, 40, 40), alike(3, 40, 40)], {}, "2:0+40");
});

/**
 * Simulates steps of the given length. Returns the name of the prompt that each step computes, one character per step.
 */
const played = (prompts: readonly NamedPrompt[], stepCount: number, msMax: number): string => {
  let current = prompts;
  let turns: Turns = noTurns;
  let names = "";
  for (let step = 0; step < stepCount && current.length > 0; step++) {
    const plan = planOf(current, { msMax, turns });
    turns = plan.turns;
    const [call] = plan.calls;
    assert.ok(call?.kind === "prefill");
    const [{ prompt: served, count }] = call.chunks;
    names += served.name;
    current = current
      .map((each) => (each === served ? { ...each, computedCount: each.computedCount + count } : each))
      .filter(({ tokenIds, computedCount }) => computedCount < tokenIds.length);
  }
  return names;
};

test("a short prompt goes before a long one, which then gets as much", () => {
  assert.equal(played([prompt(1, 96), prompt(2, 48)], 9, 26), "212121111");
});

test("a long prompt gets half, however many short ones arrive", () => {
  const short = Array.from({ length: 8 }, (_, index) => prompt(2 + index, 16));
  assert.equal(played([prompt(1, 96), ...short], 14, 26), "21314151611789");
});

test("each owner gets its share, regardless of arrival order and the others' demand", () => {
  const many = [1, 2, 3, 4].map((name) => prompt(name, 32, { owner: "a" }));
  const one = prompt(5, 64, { owner: "b" });
  assert.equal(played([...many, one], 12, 26), "115252553344");
});

test("reports a call's work: first parts as long as the longest, blocks of attention filled", () => {
  const [one, other] = [prompt(1, 40), prompt(2, 30)];
  const chunks = [
    { prompt: one, start: 0, count: 30 },
    { prompt: other, start: 0, count: 20 },
  ];
  assert.deepEqual(prefillWork({ chunks }), { tokenCount: 64, pairCount: 900 });
  const later = [
    { prompt: one, start: 10, count: 4 },
    { prompt: other, start: 20, count: 8 },
  ];
  assert.deepEqual(prefillWork({ chunks: later }), { tokenCount: 16, pairCount: 48 + 192 });
});
