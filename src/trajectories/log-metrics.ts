// The metrics of one log: rewards and everything trajectories and groups measured, averaged; how much data it
// was; and running sums that go on from the model's earlier row. Pure; storing is log-trajectories.ts.
import { type Fault, ServiceError } from "../domain/service-error.ts";
import type { TrajectoryGroup } from "../domain/trajectory.ts";
import { clamped, mean, standardDeviation } from "./statistics.ts";

/** What a log's metrics depend on beside the log itself. */
export interface LogContext {
  /** The version the log belongs to. */
  readonly step: number;
  /** Metrics of the model's newest row, in any split; empty for the first. */
  readonly earlier: Readonly<Record<string, number>>;
  /** Different scenarios seen so far, this log's included; null when nothing names its scenario. */
  readonly uniqueScenarioCount: number | null;
  /** Seconds since the model was registered. */
  readonly wallClockSeconds: number;
}

type Metrics = Record<string, number>;

/** Names that begin with one of these stand for themselves under the splits train, val and test. */
const sections = ["reward", "loss", "offpolicy", "pipeline", "throughput", "costs", "time", "data"];
const standardSplits = ["train", "val", "test"];
const accumulatedSections = ["costs/", "time/step_", "data/step_"];
const runningSum = /^(costs|time|data)\/cum\//;

/**
 * Computes what a log measures by itself.
 *
 * @throws ServiceError `invalid` naming every number that is not finite and every metric named `costs_...`, by the
 *   index of its group
 */
export function measureLog(split: string, groups: readonly TrajectoryGroup[]): Metrics {
  refuseFaultyMetrics(groups);
  const metrics: Metrics = {};
  // What clients measured may have any name; what is computed here comes after it, and stays what it is.
  for (const measured of [trajectoryMetrics(groups), groupMetrics(groups), rewardMetrics(groups)]) {
    for (const [name, value] of Object.entries(measured)) metrics[prefixed(split, name)] = value;
  }
  for (const name of Object.keys(metrics)) if (runningSum.test(name)) delete metrics[name];
  Object.assign(metrics, dataMetrics(split, groups));
  Object.assign(metrics, costSums(metrics));
  return metrics;
}

/** All metrics of a log: what it measured, and the running sums (`<section>/cum/...`) of earlier rows with it. */
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

function rewardMetrics(groups: readonly TrajectoryGroup[]): Metrics {
  const rewards = groups.flatMap((group) => group.trajectories.map((trajectory) => trajectory.reward));
  const exceptionCount = groups.reduce((count, group) => count + group.exceptions.length, 0);
  const attemptCount = rewards.length + exceptionCount;
  const deviations = groups
    .filter((group) => group.trajectories.length > 1)
    .map((group) => standardDeviation(group.trajectories.map((trajectory) => trajectory.reward)));
  return {
    // A log of exceptions alone has no mean reward: the metric is left out rather than made up.
    ...(rewards.length > 0 ? { reward: mean(rewards) } : {}),
    ...(attemptCount > 0 ? { exception_rate: exceptionCount / attemptCount } : {}),
    reward_std_dev: deviations.length > 0 ? mean(deviations) : 0,
  };
}

/** The mean of each metric over the trajectories that have it. */
function trajectoryMetrics(groups: readonly TrajectoryGroup[]): Metrics {
  return means(groups.flatMap((group) => group.trajectories.map((trajectory) => trajectory.metrics)));
}

/** The mean of each group metric over the groups that have it and at least one trajectory. */
function groupMetrics(groups: readonly TrajectoryGroup[]): Metrics {
  const averaged = means(
    groups.filter((group) => group.trajectories.length > 0).map((group) => group.metrics),
  );
  return Object.fromEntries(Object.entries(averaged).map(([name, value]) => [`group_${name}`, value]));
}

function means(records: readonly Readonly<Record<string, number | boolean>>[]): Metrics {
  const values = new Map<string, number[]>();
  for (const record of records) {
    for (const [name, value] of Object.entries(record)) {
      const list = values.get(name) ?? [];
      list.push(Number(value));
      values.set(name, list);
    }
  }
  return Object.fromEntries([...values].map(([name, list]) => [name, mean(list)]));
}

function prefixed(split: string, name: string): string {
  const ownSections = [...sections, ...standardSplits];
  const standsAlone =
    standardSplits.includes(split) && ownSections.some((section) => name.startsWith(`${section}/`));
  return standsAlone ? name : `${split}/${name}`;
}

function dataMetrics(split: string, groups: readonly TrajectoryGroup[]): Metrics {
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

/** `costs/a/b` also counts in `costs/a` and in `costs/all`. */
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

/** All running sums of the earlier row, raised by what this log adds; `data/step_x` counts in `data/cum/x`. */
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
