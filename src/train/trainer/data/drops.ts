// Counts the lines of a job's data that are dropped, by reason, and remembers the first line for each reason. Serves
// data in which each line is either trained on as a whole or dropped; for trajectories, see skips.ts. Pure.
import { cut } from "../../../base/domain/service-error.ts";
import type { SkipReason } from "./skips.ts";

/** Reason why a line of a job's data is excluded from training. */
export interface Drop {
  readonly reason: SkipReason;
  /** One sentence that explains the reason to the job's creator. */
  readonly detail: string;
}

/** The first line that was dropped for a reason, and the number of such lines. */
interface DropsOfReason extends Drop {
  /** 0-based index of the first dropped line in the job's data. */
  readonly index: number;
  count: number;
}

export class Drops {
  readonly #byReason = new Map<SkipReason, DropsOfReason>();

  /**
   * Counts a dropped line.
   *
   * @param index 0-based index of the line in the job's data
   */
  add(index: number, drop: Drop): void {
    const earlier = this.#byReason.get(drop.reason);
    if (earlier === undefined) this.#byReason.set(drop.reason, { ...drop, index, count: 1 });
    else earlier.count += 1;
  }

  /** Number of dropped lines by reason. */
  get counts(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#byReason].map(([reason, { count }]) => [reason, count]));
  }

  /**
   * Returns one sentence for each reason why lines were dropped.
   *
   * @param lines what the lines are called (such as "conversations"), how many there are, and the field of the request
   * body that contains them
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
