// Counts the parts of a job's trajectories that are skipped, by reason. Remembers the first skipped part for each
// reason, to name it in a warning. Pure.
import { cut } from "../../../base/domain/service-error.ts";
import { counted } from "../../../base/domain/text/counted.ts";
import type { UntrainedReason } from "../../trajectories/history-turns.ts";

/**
 * Reason why a part of a trajectory is skipped: it cannot be trained on, training on it would have no effect, or it is
 * too long.
 */
export type SkipReason =
  | UntrainedReason
  /** All rewards of the trajectory's group are equal, so there is nothing to learn from the group. */
  | "zero_variance"
  /** The trajectory's reward equals the mean reward of its group, so its advantage is 0. */
  | "at_group_mean"
  /** The message history is longer than the limit on sequences. */
  | "too_long"
  /** The two answers of a preference have the same tokens. */
  | "equal_answers";

/** A part of a trajectory that is skipped. */
export interface Skip {
  readonly reason: SkipReason;
  /** Path of the skipped part in the request body. */
  readonly place: string;
  /** One sentence that explains the reason to the job's creator. */
  readonly detail: string;
}

/** Reasons that are normal in reinforcement learning. They are counted but cause no warning. */
const usual: readonly SkipReason[] = ["zero_variance", "at_group_mean"];

export class Skips {
  readonly #groups = new Map<SkipReason, number>();
  readonly #trajectories = new Map<SkipReason, number>();
  readonly #first = new Map<SkipReason, Skip>();

  /** Counts the skipped parts of a group's trajectories. A reason counts once per trajectory. */
  addGroup(skipsOfTrajectories: readonly (readonly Skip[])[]): void {
    const ofGroup = new Set<SkipReason>();
    for (const skips of skipsOfTrajectories) {
      const ofTrajectory = new Set(skips.map(({ reason }) => reason));
      for (const reason of ofTrajectory) {
        increase(this.#trajectories, reason);
        ofGroup.add(reason);
      }
      for (const skip of skips) if (!this.#first.has(skip.reason)) this.#first.set(skip.reason, skip);
    }
    for (const reason of ofGroup) increase(this.#groups, reason);
  }

  /** Number of groups with a skipped part, by reason. */
  get groups(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#groups);
  }

  /** Number of trajectories with a skipped part, by reason. */
  get trajectories(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#trajectories);
  }

  /** Returns a sentence for each reason on which the job's creator may want to act. */
  get warnings(): readonly string[] {
    return [...this.#first.values()]
      .filter(({ reason }) => !usual.includes(reason))
      .map(({ reason, place, detail }) => {
        const trajectoryCount = this.#trajectories.get(reason) ?? 0;
        const groupCount = this.#groups.get(reason) ?? 0;
        return (
          `${reason}: of ${counted(trajectoryCount, "trajectory", "trajectories")} in ` +
          `${counted(groupCount, "group")} something does not train; the first is ${place}: ${cut(detail, 400)}`
        );
      });
  }
}

function increase(counts: Map<SkipReason, number>, reason: SkipReason): void {
  counts.set(reason, (counts.get(reason) ?? 0) + 1);
}
