// Counts a job's dropped lines by reason, and remembers the first line dropped for each reason. Used for data of which
// each line is either trained as a whole or dropped; for trajectories, see skips.ts. Pure.
import { cut } from "../../../base/domain/service-error.ts";
import type { SkipReason } from "./skips.ts";

/** Reason why a line is excluded from training. */
export interface Drop {
  readonly reason: SkipReason;
  /** One sentence that explains the reason to the sender of the job. */
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
   * @param lines name for the lines (such as "conversations"), their number, and the field of the request body that
   * contains them
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
