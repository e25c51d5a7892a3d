// Groups: the rollouts of one task. Converts groups to the form of logs, and ends their rollouts on the server.
import type { TrajectoryGroup } from "../api.ts";
import type { Platform } from "../platform.ts";
import type { JsonObject } from "../recording/trajectory-fetch.ts";
import type { RecordedTrajectory } from "../recording/recorded-trajectory.ts";
import type { HoneCalls } from "../trained-model.ts";
import { seedOf } from "./seeds.ts";

/** A completed rollout. */
export interface Rollout {
  readonly trajectory: RecordedTrajectory;
  readonly reward: number;
  readonly metrics: Readonly<Record<string, number | boolean>>;
  readonly metadata: JsonObject;
}

/** A failed rollout. */
export interface Failure {
  /** Name of the error's class. */
  readonly type: string;
  readonly message: string;
  readonly traceback: string;
}

export interface Group<Task> {
  readonly task: Task;
  readonly rollouts: readonly Rollout[];
  readonly failures: readonly Failure[];
}

/** The client, seed and signal that a judge gets. */
export interface JudgeContext {
  /** Client of the server that trains the model. */
  readonly hone: Pick<HoneCalls, "baseUrl" | "apiKey" | "fetch"> & {
    readonly platform: Pick<Platform, "sleep">;
  };
  /** Seed for this verdict. */
  readonly seed: number;
  readonly signal: AbortSignal;
}

/**
 * Scores the rollouts of one task by comparing them.
 *
 * @returns a finite number for each rollout, in order
 * @throws any error if there is no verdict; the rollouts then count as failed
 */
export type Judge<Task> = (
  group: { readonly task: Task; readonly rollouts: readonly Rollout[] },
  context: JudgeContext,
) => Promise<readonly number[]>;

export function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return { type: "Error", message: String(error), traceback: "" };
  // Some vendors' clients give the reason only in the cause.
  const reason = error.cause instanceof Error ? ` (${error.cause.message})` : "";
  return { type: error.name, message: error.message + reason, traceback: error.stack ?? "" };
}

/** True if the group's rewards differ. A group of equal rewards has nothing to learn from. */
export function hasSpread({ rollouts }: Pick<Group<unknown>, "rollouts">): boolean {
  return new Set(rollouts.map(({ reward }) => reward)).size > 1;
}

/** Round of a group, and the metric under which its trajectories record the round. */
export interface GroupPlace {
  /** Name of the metric whose value is the round's number. */
  readonly roundMetric: string;
  readonly round: number;
}

/** Converts a group to a trajectory group, as logs accept it. */
export function toTrajectoryGroup<Task>(
  { task, rollouts, failures }: Group<Task>,
  place: GroupPlace,
): TrajectoryGroup {
  return {
    trajectories: rollouts.map(({ trajectory, reward, metrics, metadata }) =>
      trajectory.toTrajectory({
        reward,
        metrics: { ...metrics, [place.roundMetric]: place.round },
        metadata,
      }),
    ),
    exceptions: failures,
    metadata: { scenario_id: scenarioIdOf(task) },
  };
}

/** Returns an id for a task: its own `id`, or a hash of its content. */
export function scenarioIdOf(task: unknown): string {
  if (typeof task === "object" && task !== null && "id" in task) {
    const { id } = task;
    if (typeof id === "string" || typeof id === "number") return String(id);
  }
  return seedOf(JSON.stringify(task) ?? String(task)).toString(16);
}

/** Maximum wait in milliseconds for the server to cancel a failed rollout. */
const cancelMsMax = 5000;

/** Ends a rollout with its reward. Sending the same reward again changes nothing. */
export function finishRollout(
  { trajectory, reward, metrics }: Pick<Rollout, "trajectory" | "reward" | "metrics">,
  { roundMetric, round }: GroupPlace,
): Promise<void> {
  return trajectory.reward({ reward, metrics: { ...metrics, [roundMetric]: round } });
}

/**
 * Cancels a failed rollout, unless it has been finished. Waits for the server, so that no request outlasts the run. If
 * the cancellation fails, the rollout expires.
 */
export function cancelRollout(trajectory: RecordedTrajectory): Promise<void> {
  return trajectory.cancel({ signal: AbortSignal.timeout(cancelMsMax) }).catch(() => undefined);
}
