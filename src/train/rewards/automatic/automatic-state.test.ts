import assert from "node:assert/strict";
import { test } from "node:test";
import type {
  AutomaticJob,
  AutomaticOrder,
  AutomaticProgress,
} from "../../../base/domain/rewards/stored-rule.ts";
import { resolveTrainingConfig } from "../../../base/domain/training-config.ts";
import { type AutomaticFacts, automaticState } from "./automatic-state.ts";

const now = new Date(Date.UTC(2026, 10, 21, 12));

/** Returns a job that was created `minutes` minutes ago. */
function job(minutes: number, tokenCount = 100): AutomaticJob {
  return { id: `j${minutes}`, createdAt: new Date(now.getTime() - minutes * 60_000), tokenCount };
}

function check(
  facts: Partial<Omit<AutomaticFacts, "order" | "progress">> & {
    readonly order?: Partial<AutomaticOrder>;
    readonly progress?: Partial<AutomaticProgress>;
  },
  expected: readonly [kind: string, minutes: number | null, reason?: RegExp],
): void {
  const order: AutomaticOrder = {
    modelId: "m",
    rollouts: null,
    filter: null,
    since: null,
    groupsMin: 4,
    groupsMax: 100,
    secondsBetween: 3600,
    jobsPerDay: 3,
    tokensPerDay: null,
    versionAgeMax: null,
    config: resolveTrainingConfig({}),
    ...facts.order,
  };
  const jobs = facts.progress?.jobs ?? [];
  const progress = {
    cursor: 1,
    readyCount: 4,
    unreadyCount: 0,
    jobs,
    lastJob: jobs[0] ?? null,
    fault: null,
    ...facts.progress,
  };
  const state = automaticState({ isPaused: false, isTraining: false, now, ...facts, order, progress });
  const minutes = state.nextJobAt === null ? null : (state.nextJobAt.getTime() - now.getTime()) / 60_000;
  assert.deepEqual([state.kind, minutes], expected.slice(0, 2));
  if (expected[2] !== undefined) assert.match(state.reason, expected[2]);
}

test("waits for groups, for its last job or for its limits, and says which", () => {
  check({}, ["ready", null]);
  check({ isPaused: true }, ["paused", null]);
  check({ progress: { readyCount: 3 } }, ["collecting", null, /^3 of 4 groups/]);
  const rollouts = { split: null, groupSizeMin: 2 };
  check({ order: { rollouts }, progress: { readyCount: 3 } }, [
    "collecting",
    null,
    /^3 of 4 groups are whole\.$/,
  ]);
  const unready = { readyCount: 3, unreadyCount: 2 };
  check({ order: { rollouts }, progress: unready }, ["collecting", null, /whole; 2 more have open rollouts/]);
  check({ isTraining: true, progress: { jobs: [job(1)] } }, ["training", 59]);
  check({ progress: { jobs: [job(10)] } }, ["waiting", 50, /seconds_between/]);
  check({ progress: { jobs: [job(61)] } }, ["ready", null]);
  check({ progress: { jobs: [job(120), job(240), job(360)] } }, ["waiting", 24 * 60 - 360, /jobs_per_day/]);
  check({ progress: { jobs: [job(120), job(240)] } }, ["ready", null]);
});

test("frees the day's tokens as jobs age", () => {
  const jobs = [job(120, 40), job(240, 40), job(360, 40)];
  const order = { jobsPerDay: 100 };
  check({ order: { ...order, tokensPerDay: 121 }, progress: { jobs } }, ["ready", null]);
  check({ order: { ...order, tokensPerDay: 120 }, progress: { jobs } }, [
    "waiting",
    24 * 60 - 360,
    /tokens_per_day/,
  ]);
  check({ order: { ...order, tokensPerDay: 80 }, progress: { jobs } }, [
    "waiting",
    24 * 60 - 240,
    /tokens_per_day/,
  ]);
});

test("reports the last fault with the state", () => {
  check({ progress: { fault: "The queue is full." } }, ["ready", null, /in the way: The queue is full\./]);
});
