// Computes the metrics of one log of trajectories: mean rewards, means of reported metrics, data counts, and running
// sums that continue those of earlier logs. Pure; log-trajectories.ts stores the metrics.
import { clamped } from "../../base/domain/summaries/outline-group.ts";
import { type Fault, ServiceError } from "../../base/domain/service-error.ts";
import type { TrajectoryGroup } from "../../base/domain/trajectory.ts";
import { answerMetrics, type AnswerLength } from "./choice-faults.ts";
import { mean, standardDeviation } from "./statistics.ts";

/** Facts on which a log's metrics depend, in addition to the log itself. */
export interface LogContext {
  /** Number of the version to which the log belongs. */
  readonly step: number;
  /** Metrics of the model's newest metrics row, of any split; empty for the model's first log. */
  readonly earlier: Readonly<Record<string, number>>;
  /** Number of distinct scenarios in all logs so far, including this one; null if no log has a scenario id. */
  readonly uniqueScenarioCount: number | null;
  /** Seconds from the registration of the model to this log. */
  readonly wallClockSeconds: number;
}

type Metrics = Record<string, number>;

/**
 * First parts of metric names. The splits train, val and test use such a name as it is; other splits put their own name
 * before it.
 */
const sections = ["reward", "loss", "offpolicy", "pipeline", "throughput", "costs", "time", "data"];
const standardSplits = ["train", "val", "test"];
const accumulatedSections = ["costs/", "time/step_", "data/step_"];
const runningSum = /^(costs|time|data)\/cum\//;

/** Measurements of all logs of one split. The measurements of another log can be added to them. */
export interface LogTally {
  /** For each metric, its mean and the number of values in the mean. */
  readonly means: Readonly<Record<string, readonly [mean: number, count: number]>>;
  readonly sums: Readonly<Metrics>;
}

/**
 * Measures one log of trajectories.
 *
 * @param answers the model's answers in all trajectories
 * @throws ServiceError `invalid` with every number that is not finite and every metric whose name begins with `costs_`,
 * each with the index of its group
 */
export function tallyLog(
  split: string,
  groups: readonly TrajectoryGroup[],
  answers: readonly AnswerLength[] = [],
): LogTally {
  refuseFaultyMetrics(groups);
  const means: Record<string, readonly [number, number]> = {};
  // Adds computed metrics last, so that they take precedence over client metrics with the same name.
  const measured = [trajectoryMeans(groups), groupMeans(groups), rewardMeans(groups), answerMeans(answers)];
  for (const each of measured) for (const [name, tally] of each) means[prefixed(split, name)] = tally;
  for (const name of Object.keys(means)) if (runningSum.test(name)) delete means[name];
  return { means, sums: dataSums(split, groups) };
}

/** Combines the measurements of two logs. */
export function mergedTallies(one: LogTally, other: LogTally): LogTally {
  const means = { ...one.means };
  for (const [name, tally] of Object.entries(other.means)) means[name] = mergedMeans(means[name], tally);
  const sums: Metrics = { ...one.sums };
  for (const [name, value] of Object.entries(other.sums)) sums[name] = (sums[name] ?? 0) + value;
  return { means, sums };
}

function mergedMeans(
  one: readonly [number, number] | undefined,
  [mean, count]: readonly [number, number],
): readonly [number, number] {
  if (one === undefined || one[1] === 0) return [mean, count];
  const total = one[1] + count;
  const merged = (one[0] * one[1] + mean * count) / total;
  // The sum of values near the largest double overflows, although their mean does not.
  return [Number.isFinite(merged) ? merged : one[0] * (one[1] / total) + mean * (count / total), total];
}

/** Converts measurements to metrics by name. */
export function tallyMetrics({ means, sums }: LogTally): Metrics {
  const metrics: Metrics = {};
  for (const [name, [mean]] of Object.entries(means)) metrics[name] = mean;
  Object.assign(metrics, sums);
  Object.assign(metrics, costSums(metrics));
  return metrics;
}

/**
 * Returns all metrics of a log: its measurements, and running sums (`<section>/cum/...`), which include earlier logs.
 */
export function logMetrics(measured: Readonly<Metrics>, context: LogContext): Metrics {
  const metrics: Metrics = { ...runningSums(context.earlier, measured), ...measured };
  if (context.uniqueScenarioCount !== null) {
    metrics["data/cum/num_unique_scenarios"] = context.uniqueScenarioCount;
  }
  metrics["training_step"] = context.step;
  metrics["time/wall_clock_sec"] = context.wallClockSeconds;
  return metrics;
}

function refuseFaultyMetrics(groups: readonly TrajectoryGroup[]): void {
  const faults: Fault[] = [];
  const checkNumber = (location: readonly string[], value: number | boolean): void => {
    if (Number.isFinite(Number(value))) return;
    faults.push({ location, message: "Input should be a finite number", type: "finite_number" });
  };
  const checkMetrics = (
    location: readonly string[],
    metrics: Readonly<Record<string, number | boolean>>,
  ): void => {
    for (const [name, value] of Object.entries(metrics)) {
      checkNumber([...location, "metrics", name], value);
      if (!name.startsWith("costs_")) continue;
      const message = `Metric names may not begin with costs_; write ${name.replace("costs_", "costs/")}`;
      faults.push({ location: [...location, "metrics", name], message, type: "value_error" });
    }
  };
  groups.forEach((group, groupIndex) => {
    const location = ["groups", String(groupIndex)];
    checkMetrics(location, group.metrics);
    group.trajectories.forEach((trajectory, index) => {
      const inner = [...location, "trajectories", String(index)];
      checkNumber([...inner, "reward"], trajectory.reward);
      checkMetrics(inner, trajectory.metrics);
    });
  });
  if (faults.length === 0) return;
  const [first] = faults;
  throw new ServiceError({
    code: "invalid",
    message: `trajectory_groups.${first.location.slice(1).join(".")}: ${first.message}`,
    faults,
  });
}

type Means = ReadonlyMap<string, readonly [mean: number, count: number]>;

function rewardMeans(groups: readonly TrajectoryGroup[]): Means {
  const rewards = groups.flatMap((group) => group.trajectories.map((trajectory) => trajectory.reward));
  const exceptionCount = groups.reduce((count, group) => count + group.exceptions.length, 0);
  const attemptCount = rewards.length + exceptionCount;
  const deviations = groups
    .filter((group) => group.trajectories.length > 1)
    .map((group) => standardDeviation(group.trajectories.map((trajectory) => trajectory.reward)));
  const means = new Map<string, readonly [number, number]>();
  // A log that contains only exceptions has no mean reward, so the metric is omitted.
  if (rewards.length > 0) means.set("reward", [mean(rewards), rewards.length]);
  if (attemptCount > 0) means.set("exception_rate", [exceptionCount / attemptCount, attemptCount]);
  means.set("reward_std_dev", [deviations.length > 0 ? mean(deviations) : 0, deviations.length]);
  return means;
}

/** Returns the mean of each metric over the trajectories that report it. */
function trajectoryMeans(groups: readonly TrajectoryGroup[]): Means {
  return meansOf(groups.flatMap((group) => group.trajectories.map((trajectory) => trajectory.metrics)));
}

/** Returns the mean of each group metric over the groups that report it and have at least one trajectory. */
function groupMeans(groups: readonly TrajectoryGroup[]): Means {
  const averaged = meansOf(
    groups.filter((group) => group.trajectories.length > 0).map((group) => group.metrics),
  );
  return new Map([...averaged].map(([name, tally]) => [`group_${name}`, tally]));
}

function meansOf(records: readonly Readonly<Record<string, number | boolean>>[]): Means {
  const values = new Map<string, number[]>();
  for (const record of records) {
    for (const [name, value] of Object.entries(record)) {
      const list = values.get(name) ?? [];
      list.push(Number(value));
      values.set(name, list);
    }
  }
  return new Map([...values].map(([name, list]) => [name, [mean(list), list.length]]));
}

/**
 * Returns the mean length of the model's answers, and the share of answers that were cut off. Empty if no answer has
 * recorded tokens.
 */
function answerMeans(answers: readonly AnswerLength[]): Means {
  const lengths = answers.flatMap(({ tokenCount }) => tokenCount ?? []);
  const ends = answers.flatMap(({ isCut }) => isCut ?? []);
  const means = new Map<string, readonly [number, number]>();
  if (lengths.length > 0) means.set(answerMetrics.length, [mean(lengths), lengths.length]);
  if (ends.length > 0) means.set(answerMetrics.cut, [mean(ends.map(Number)), ends.length]);
  return means;
}

function prefixed(split: string, name: string): string {
  const ownSections = [...sections, ...standardSplits];
  const standsAlone =
    standardSplits.includes(split) && ownSections.some((section) => name.startsWith(`${section}/`));
  return standsAlone ? name : `${split}/${name}`;
}

function dataSums(split: string, groups: readonly TrajectoryGroup[]): Metrics {
  const trajectoryCount = groups.reduce(
    (count, group) => count + group.trajectories.length + group.exceptions.length,
    0,
  );
  return {
    "data/step_num_scenarios": groups.length,
    "data/step_num_trajectories": trajectoryCount,
    "data/step_num_groups_submitted": groups.length,
    ...(split === "train" ? { "data/step_num_groups_trainable": groups.filter(isTrainable).length } : {}),
  };
}

function isTrainable(group: TrajectoryGroup): boolean {
  return new Set(group.trajectories.map((trajectory) => trajectory.reward)).size > 1;
}

/** Adds up the cost metrics. For example, the value of `costs/a/b` is added to `costs/a` and to `costs/all`. */
function costSums(metrics: Metrics): Metrics {
  const sums: Metrics = {};
  for (const [name, value] of Object.entries(metrics)) {
    if (!name.startsWith("costs/") || name === "costs/all") continue;
    const parts = name.split("/");
    for (let depth = 2; depth < parts.length; depth++) {
      const parent = parts.slice(0, depth).join("/");
      sums[parent] = clamped((sums[parent] ?? metrics[parent] ?? 0) + value);
    }
    sums["costs/all"] = clamped((sums["costs/all"] ?? 0) + value);
  }
  return sums;
}

/**
 * Adds this log's values to the running sums of the earlier logs. For example, `data/step_x` is added to `data/cum/x`.
 */
function runningSums(earlier: Readonly<Metrics>, ofThisLog: Readonly<Metrics>): Metrics {
  const sums: Metrics = {};
  for (const [name, value] of Object.entries(earlier)) {
    if (name.split("/")[1] === "cum") sums[name] = value;
  }
  for (const [name, value] of Object.entries(ofThisLog)) {
    if (!accumulatedSections.some((section) => name.startsWith(section))) continue;
    const [section, ...rest] = name.split("/");
    const sumName = `${section}/cum/${rest.join("/").replace(/^step_/, "")}`;
    sums[sumName] = clamped((sums[sumName] ?? 0) + value);
  }
  return sums;
}
