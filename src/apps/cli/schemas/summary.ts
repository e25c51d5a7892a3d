// Summary of many checked schemas: how many a server would accept, why it would refuse the others, and how many test
// values had the expected result.
import type { CheckedCase } from "./schema-case.ts";

export class Summary {
  readonly #compileMs: number[] = [];
  readonly #refusedBy = new Map<string, number>();
  #servedCount = 0;
  #overLimitCount = 0;
  readonly #valid = { count: 0, rejectedCount: 0 };
  readonly #invalid = { count: 0, acceptedCount: 0 };

  add({ check, tests }: CheckedCase): void {
    const { refusal, instances, compileMs } = check;
    this.#compileMs.push(compileMs);
    if (refusal === null) this.#servedCount += 1;
    else this.#refusedBy.set(refusal.subject, (this.#refusedBy.get(refusal.subject) ?? 0) + 1);
    if (refusal?.kind === "limit" || instances.some(({ limit }) => limit !== null)) this.#overLimitCount += 1;
    for (const { valid, accepted } of tests) {
      if (valid === true) {
        this.#valid.count += 1;
        if (!accepted) this.#valid.rejectedCount += 1;
      } else if (valid === false) {
        this.#invalid.count += 1;
        if (accepted) this.#invalid.acceptedCount += 1;
      }
    }
  }

  /** Returns the lines of the printed summary. */
  lines(): readonly string[] {
    const count = this.#compileMs.length;
    const sorted = [...this.#compileMs].sort((one, other) => one - other);
    const at = (share: number): string => {
      const index = Math.min(count - 1, Math.floor(count * share));
      return index < 0 ? "-" : sorted[index].toFixed(1);
    };
    const refused = [...this.#refusedBy].sort(([, one], [, other]) => other - one);
    return [
      `schemas: ${count}, served ${this.#servedCount}${shareOf(this.#servedCount, count)}, over limits ${this.#overLimitCount}`,
      `refused: ${refused.map(([subject, times]) => `${subject} ${times}`).join(", ") || "none"}`,
      `valid instances: ${this.#valid.count}, rejected ${this.#valid.rejectedCount}`,
      `invalid instances: ${this.#invalid.count}, accepted ${this.#invalid.acceptedCount}`,
      `compile ms: p50 ${at(0.5)}, p90 ${at(0.9)}, p99 ${at(0.99)}, max ${at(1)}`,
    ];
  }
}

function shareOf(part: number, whole: number): string {
  return whole === 0 ? "" : ` (${((100 * part) / whole).toFixed(1)} %)`;
}
