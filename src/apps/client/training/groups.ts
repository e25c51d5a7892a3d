// Rollouts of one task beside each other, and what is sent of them.
import type { TrajectoryGroup } from "../api.ts";
import type { Platform } from "../platform.ts";
import type { JsonObject } from "../recording/model-request.ts";
import type { RecordedTrajectory } from "../recording/recorded-trajectory.ts";
import type { HoneCalls } from "../trained-model.ts";
import { seedOf } from "./seeds.ts";

/** A rollout that came to its end. */
export interface Rollout {
  readonly trajectory: RecordedTrajectory;
  readonly reward: number;
  readonly metrics: Readonly<Record<string, number | boolean>>;
  readonly metadata: JsonObject;
}

/** A rollout that did not. */
export interface Failure {
  /** Name of the error. */
  readonly type: string;
  readonly message: string;
  readonly traceback: string;
}

export interface Group<Task> {
  readonly task: Task;
  readonly rollouts: readonly Rollout[];
  readonly failures: readonly Failure[];
}

/** What a judge gets to know of where it is asked. */
export interface JudgeContext {
  /** The client of the model that is trained. */
  readonly hone: Pick<HoneCalls, "baseUrl" | "apiKey" | "fetch"> & {
    readonly platform: Pick<Platform, "sleep">;
  };
  /** Of everything random in its verdict. */
  readonly seed: number;
  readonly signal: AbortSignal;
}

/**
 * Scores rollouts of one task beside each other.
 *
 * @returns a finite number for each, in their order
 * @throws anything where it comes to no verdict: the rollouts then count as failures
 */
export type Judge<Task> = (
  group: { readonly task: Task; readonly rollouts: readonly Rollout[] },
  context: JudgeContext,
) => Promise<readonly number[]>;

export function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return { type: "Error", message: String(error), traceback: "" };
  // Clients of other makers say the reason in the cause alone.
  const reason = error.cause instanceof Error ? ` (${error.cause.message})` : "";
  return { type: error.name, message: error.message + reason, traceback: error.stack ?? "" };
}

/** Whether its rewards differ: a group of equal ones teaches nothing. */
export function hasSpread({ rollouts }: Pick<Group<unknown>, "rollouts">): boolean {
  return new Set(rollouts.map(({ reward }) => reward)).size > 1;
}

/** Where in a run a group was made. */
export interface GroupPlace {
  /** The metric that counts the rounds of the run. */
  readonly roundMetric: string;
  readonly round: number;
}

/** The group as it is logged and trained on. */
export function bodyOf<Task>({ task, rollouts, failures }: Group<Task>, place: GroupPlace): TrajectoryGroup {
  return {
    trajectories: rollouts.map(({ trajectory, reward, metrics, metadata }) =>
      trajectory.finish({ reward, metrics: { ...metrics, [place.roundMetric]: place.round }, metadata }),
    ),
    exceptions: failures,
    metadata: { scenario_id: scenarioOf(task) },
  };
}

/** What tells tasks apart: an id of their own, or a number that follows from all that they are. */
export function scenarioOf(task: unknown): string {
  if (typeof task === "object" && task !== null && "id" in task) {
    const { id } = task;
    if (typeof id === "string" || typeof id === "number") return String(id);
  }
  return seedOf(JSON.stringify(task) ?? String(task)).toString(16);
}
