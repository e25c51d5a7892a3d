// Counts those of a job's lines that do not train, by reason, and keeps the first of each for whoever sent the job. Of lines
// that train whole or not at all; what is skipped of trajectories is counted in skips.ts. Pure.
import { cut } from "../../../base/domain/service-error.ts";
import type { SkipReason } from "./skips.ts";

/** Why a line does not train. */
export interface Drop {
  readonly reason: SkipReason;
  /** A sentence for people. */
  readonly detail: string;
}

/** The first line that was dropped for a reason, and how many were. */
interface DropsOfReason extends Drop {
  /** From 0. */
  readonly index: number;
  count: number;
}

export class Drops {
  readonly #byReason = new Map<SkipReason, DropsOfReason>();

  /** @param index of the line, from 0 */
  add(index: number, drop: Drop): void {
    const earlier = this.#byReason.get(drop.reason);
    if (earlier === undefined) this.#byReason.set(drop.reason, { ...drop, index, count: 1 });
    else earlier.count += 1;
  }

  /** Reason to lines that were dropped for it. */
  get counts(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#byReason].map(([reason, { count }]) => [reason, count]));
  }

  /**
   * A sentence for each reason.
   *
   * @param lines what they are, of how many, and the field of the job's body that holds them
   */
  warnings(lines: {
    readonly name: string;
    readonly count: number;
    readonly field: string;
  }): readonly string[] {
    return [...this.#byReason.values()].map(
      ({ reason, index, detail, count }) =>
        `${reason}: ${count} of ${lines.count} ${lines.name} do not train; the first is ` +
        `${lines.field}.${index}: ${cut(detail, 400)}`,
    );
  }
}
