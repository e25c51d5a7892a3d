// The faults of a simulated world and when they happen: servers die or are stopped, the power fails, the database goes
// down, the disk is full, slow or broken, and clocks are stepped. The seed determines which kinds of faults a world has
// and how often, because some bugs appear only if other faults are rare.
import type { CallKind, DiskFaults } from "./world/disk-calls.ts";
import type { DatabaseFaults } from "./world/database.ts";
import type { Scheduler } from "./world/scheduler.ts";

export const faultKinds = [
  "kill",
  "stop",
  "power",
  "stall",
  "database",
  "cut",
  "connection",
  "full",
  "broken",
  "slow",
  "clock",
  "training",
] as const;
export type FaultKind = (typeof faultKinds)[number];

/** Current faults that last for a while, and probabilities that a single call fails. */
export class Faults {
  readonly #scheduler: Scheduler;
  readonly kinds: ReadonlySet<FaultKind>;
  readonly counts = new Map<FaultKind, number>();
  #isOver = false;
  #isFull = false;
  #isSlow = false;
  /** Probability of a fault for each call. */
  readonly #rate: number;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
    // Each world has only some kinds of faults.
    const share = 0.2 + 0.7 * scheduler.random.uniform();
    this.kinds = new Set(faultKinds.filter(() => scheduler.chance(share)));
    this.#rate = 0.001 * 20 ** scheduler.random.uniform();
  }

  /** Ends all faults; none occurs afterwards. */
  end(): void {
    this.#isOver = true;
    this.#isFull = false;
    this.#isSlow = false;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  count(kind: FaultKind): void {
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
  }

  fill(isFull: boolean): void {
    this.#isFull = isFull && !this.#isOver;
  }

  slow(isSlow: boolean): void {
    this.#isSlow = isSlow && !this.#isOver;
  }

  readonly disk: DiskFaults = {
    delayMs: () => this.#scheduler.shortTime(this.#isSlow ? 3000 : 8),
    failure: (kind: CallKind) => {
      if (kind === "write" && this.#isFull && this.#scheduler.chance(0.7))
        return this.#failed("full", "ENOSPC");
      return this.#happens("broken") ? "EIO" : null;
    },
  };

  readonly database: DatabaseFaults = {
    delayMs: () => this.#scheduler.shortTime(this.#isSlow ? 500 : 8),
    losesConnection: () => this.#happens("connection"),
  };

  readonly training = (): "unavailable" | "unsupported" | "internal" | null => {
    if (this.#isOver || !this.kinds.has("training") || !this.#scheduler.chance(0.1)) return null;
    this.count("training");
    return (["unavailable", "unavailable", "unsupported", "internal"] as const)[
      this.#scheduler.random.index(4)
    ];
  };

  #happens(kind: FaultKind): boolean {
    if (this.#isOver || !this.kinds.has(kind) || !this.#scheduler.chance(this.#rate)) return false;
    this.count(kind);
    return true;
  }

  #failed(kind: FaultKind, code: string): string {
    this.count(kind);
    return code;
  }
}
