// Counts a job's dropped lines by reason, and keeps the first line of each reason for the job's sender. For kinds of
// lines that are either trained as a whole or dropped; skips.ts counts the skipped parts of trajectories. Pure.
import { cut } from "../../../base/domain/service-error.ts";
import type { SkipReason } from "./skips.ts";

/** Reason why a line is excluded from training. */
export interface Drop {
  readonly reason: SkipReason;
  /** A sentence for people. */
  readonly detail: string;
}

/** The first line dropped for a reason, and the number of such lines. */
interface DropsOfReason extends Drop {
  /** 0-based index of the line. */
  readonly index: number;
  count: number;
}

export class Drops {
  readonly #byReason = new Map<SkipReason, DropsOfReason>();

  /** @param index 0-based index of the line */
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
   * Returns a sentence for each reason.
   *
   * @param lines their name and number, and the field of the job's body that holds them
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
