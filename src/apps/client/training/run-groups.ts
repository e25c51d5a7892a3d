// Runs the rollouts of tasks concurrently, each with a timeout, and counts failures.
import { HoneError } from "../hone-error.ts";
import type { Platform } from "../platform.ts";
import type { JsonObject } from "../recording/trajectory-fetch.ts";
import type { RecordedTrajectory } from "../recording/recorded-trajectory.ts";
import type { RolloutOptions } from "../recording/start-trajectory.ts";
import {
  failureOf,
  cancelRollout,
  finishRollout,
  scenarioIdOf,
  type Failure,
  type Group,
  type GroupPlace,
  type Judge,
  type JudgeContext,
  type Rollout,
} from "./groups.ts";
import { countedReasons } from "./round-report.ts";
import { seedOf } from "./seeds.ts";
import type { Resolved, RolloutFunction, RolloutResult } from "./train-options.ts";

/** Functions, clients and limits that rollouts use. */
export interface RolloutMaker<Task> extends Pick<
  Resolved<Task>,
  "concurrency" | "rolloutTimeout" | "failuresMax"
> {
  readonly start: (options: RolloutOptions) => Promise<RecordedTrajectory>;
  readonly rollout: RolloutFunction<Task>;
  readonly judge: Judge<Task> | undefined;
  readonly hone: JudgeContext["hone"] & { readonly platform: Pick<Platform, "sleep"> };
  readonly signal: AbortSignal;
  /** Called after each rollout with the counts so far. */
  readonly onEnded: (counts: {
    readonly ended: number;
    readonly failures: number;
    readonly total: number;
  }) => void;
}

export interface GroupPlan<Task> {
  readonly tasks: readonly Task[];
  /** Number of rollouts per task. */
  readonly size: number;
  /** Step of the version to sample. */
  readonly step: number;
  readonly seed: number;
  readonly request: JsonObject | undefined;
  /** Round whose job trains on the rollouts; null if no job may train on them. */
  readonly trainedIn: GroupPlace | null;
}

/** One rollout of a plan. */
interface RolloutPlan<Task> extends Pick<GroupPlan<Task>, "step" | "seed" | "request" | "trainedIn"> {
  readonly task: Task;
  readonly taskIndex: number;
}

/**
 * Runs each task several times. If there is a judge, it compares all rollouts of a task.
 *
 * @throws HoneError `rollouts_failed` as soon as more than the allowed share of rollouts has failed; the signal's
 * reason
 */
export async function runGroups<Task>(
  maker: RolloutMaker<Task>,
  plan: GroupPlan<Task>,
): Promise<readonly Group<Task>[]> {
  const { tasks, size } = plan;
  const total = tasks.length * size;
  const failuresMax = Math.floor(maker.failuresMax * total);
  // Aborts the remaining rollouts when too many have failed.
  const end = new AbortController();
  const signal = AbortSignal.any([maker.signal, end.signal]);
  const outcomes: (Rollout | Failure)[] = [];
  const failures: Failure[] = [];
  let ended = 0;
  const count = (outcome: Rollout | Failure): void => {
    ended += 1;
    if (isFailure(outcome)) failures.push(outcome);
    maker.onEnded({ ended, failures: failures.length, total });
    if (failures.length > failuresMax) end.abort(tooManyFailed(failures, total));
  };
  const run = async (index: number): Promise<void> => {
    signal.throwIfAborted();
    const seed = seedOf(plan.seed, index);
    const taskIndex = Math.floor(index / size);
    const outcome = await outcomeOf(
      { ...maker, signal },
      { ...plan, task: tasks[taskIndex], taskIndex, seed },
    );
    signal.throwIfAborted();
    outcomes[index] = outcome;
    count(outcome);
  };
  await runConcurrently(total, maker.concurrency, run).catch((error: unknown) => {
    end.abort(error);
    throw error;
  });
  signal.throwIfAborted();
  const groups = tasks.map((task, index): Group<Task> => {
    const own = outcomes.slice(index * size, (index + 1) * size);
    return {
      task,
      rollouts: own.filter((one): one is Rollout => !isFailure(one)),
      failures: own.filter(isFailure),
    };
  });
  return judged(maker, plan, groups);
}

/**
 * Runs `run` for each index, at most `limit` at a time. After a failure, starts no more runs, waits for the running
 * ones, and throws the error.
 */
async function runConcurrently(
  count: number,
  limit: number,
  run: (index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  let isOver = false;
  const work = async (): Promise<void> => {
    while (!isOver && next < count) {
      try {
        await run(next++);
      } catch (error) {
        isOver = true;
        throw error;
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.min(limit, count) }, work));
  const failed = ends.find((end) => end.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

function isFailure(outcome: Rollout | Failure): outcome is Failure {
  return "traceback" in outcome;
}

async function outcomeOf<Task>(
  { start, rollout, judge, rolloutTimeout, signal, hone }: RolloutMaker<Task>,
  { task, taskIndex, step, seed, request, trainedIn }: RolloutPlan<Task>,
): Promise<Rollout | Failure> {
  const over = new AbortController();
  const ends = AbortSignal.any([signal, over.signal]);
  const expires = Math.ceil(Math.min(expiresMax, Math.max(expiresMin, (2 * rolloutTimeout) / 1000)));
  // The server compares the rewards of a group. Its name has the task's index, because equal tasks may occur twice.
  const group = trainedIn === null ? null : `round ${trainedIn.round}, task ${taskIndex}`;
  const metadata = { scenario_id: scenarioIdOf(task) };
  const trajectory = await start({ step, seed, request, expires, signal: ends, group, metadata }).catch(
    failureOf,
  );
  if ("traceback" in trajectory) return trajectory;
  const late = hone.platform.sleep(rolloutTimeout, over.signal).then(() => {
    throw tookTooLong(rolloutTimeout);
  });
  // An async function, so that a synchronous throw also becomes a rejection.
  const run = async (): Promise<RolloutResult> => rollout(task, trajectory);
  try {
    const result = await Promise.race([run(), late, abortOf(ends)]);
    const ended = { trajectory, ...resultOf(result, judge !== undefined) };
    if (trainedIn === null) await trajectory.cancel();
    // The rollout stays open until the judge has given its score, because the server accepts only one reward.
    else if (judge === undefined) await finishRollout(ended, trainedIn);
    // Throws now if the rollout cannot be trained on.
    await trajectory.read();
    return ended;
  } catch (error) {
    await cancelRollout(trajectory);
    return failureOf(error);
  } finally {
    late.catch(() => undefined);
    // Also aborts requests that the rollout function did not wait for.
    over.abort(new DOMException("The rollout has ended.", "AbortError"));
  }
}

/** Times in seconds after which a rollout expires on the server: at least a day, and at most the server's maximum. */
const [expiresMin, expiresMax] = [86_400, 604_800];

function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason as Error);
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}

function tookTooLong(timeoutMs: number): HoneError {
  const message = `The rollout took longer than ${timeoutMs / 1000} s (rolloutTimeout).`;
  return new HoneError({ code: "timeout", param: "rolloutTimeout", message });
}

/**
 * Validates a rollout's result.
 *
 * @throws HoneError `invalid` if the reward is not finite, or is missing without a judge
 */
function resultOf(result: RolloutResult, isJudged: boolean): Omit<Rollout, "trajectory"> {
  const given = typeof result === "object" && result !== null ? result : { reward: result };
  const { reward = isJudged ? 0 : undefined, metrics = {}, metadata = {} } = given;
  if (typeof reward === "number" && Number.isFinite(reward)) return { reward, metrics, metadata };
  const came = typeof result === "object" ? `a reward of ${shown(reward)}` : shown(result);
  const message = `The rollout returned ${came}; it must return a finite number, or { reward } with one${cureFor(reward)}.`;
  throw new HoneError({ code: "invalid", param: "reward", message });
}

/** Formats a value for a message. A string is marked as text, because "1" could be mistaken for a number. */
function shown(value: unknown): string {
  if (typeof value === "string") return `the text ${JSON.stringify(value.slice(0, 80))}`;
  if (typeof value === "object" && value !== null) return JSON.stringify(value).slice(0, 80);
  return String(value);
}

function cureFor(reward: unknown): string {
  if (typeof reward === "boolean") return `, such as ${Number(reward)} for ${reward}`;
  if (typeof reward === "string" && reward.trim() !== "" && Number.isFinite(Number(reward)))
    return `, such as ${Number(reward)} without quotes`;
  return "";
}

function tooManyFailed(failures: readonly Failure[], total: number): HoneError {
  const reasons = countedReasons(failures.map(({ message }) => message)).map(
    ({ message, count }) => `${count} times: ${message}`,
  );
  const message = `${failures.length} of ${total} rollouts failed, which is more than failuresMax allows. ${reasons.join("; ")}`;
  return new HoneError({ code: "rollouts_failed", param: "failuresMax", message });
}

/** Adds the judge's scores to the rewards. The rollouts of a group without a verdict count as failed. */
async function judged<Task>(
  { judge, hone, signal, concurrency, failuresMax }: RolloutMaker<Task>,
  { seed, trainedIn }: GroupPlan<Task>,
  groups: readonly Group<Task>[],
): Promise<readonly Group<Task>[]> {
  if (judge === undefined) return groups;
  const result = [...groups];
  await runConcurrently(groups.length, concurrency, async (index) => {
    signal.throwIfAborted();
    const group = groups[index];
    if (group.rollouts.length === 0) return;
    const context = { hone, seed: seedOf(seed, "judge", index), signal };
    const verdict = async (): Promise<Group<Task>> => {
      const scored = await verdictOf(judge, group, context);
      if (trainedIn !== null)
        await Promise.all(scored.rollouts.map((rollout) => finishRollout(rollout, trainedIn)));
      return scored;
    };
    result[index] = await verdict().catch(async (error: unknown) => {
      await Promise.all(group.rollouts.map(({ trajectory }) => cancelRollout(trajectory)));
      signal.throwIfAborted();
      return {
        ...group,
        rollouts: [],
        failures: [...group.failures, ...group.rollouts.map(() => failureOf(error))],
      };
    });
  });
  const failures = result.flatMap((group) => group.failures);
  const total = result.reduce((sum, group) => sum + group.rollouts.length, failures.length);
  if (failures.length > failuresMax * total) throw tooManyFailed(failures, total);
  return result;
}

async function verdictOf<Task>(
  judge: Judge<Task>,
  group: Group<Task>,
  context: JudgeContext,
): Promise<Group<Task>> {
  const { task, rollouts } = group;
  const scores = await judge({ task, rollouts }, context);
  const isVerdict = scores.length === rollouts.length && scores.every((score) => Number.isFinite(score));
  if (!isVerdict) {
    const message = `The judge gave ${JSON.stringify(scores)} for ${rollouts.length} rollouts; it must give a finite number for each.`;
    throw new HoneError({ code: "invalid", param: "judge", message });
  }
  return {
    ...group,
    rollouts: rollouts.map((rollout, index) => ({
      ...rollout,
      reward: rollout.reward + (scores[index] ?? 0),
    })),
  };
}
