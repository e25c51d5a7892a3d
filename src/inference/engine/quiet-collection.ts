// What requests leave behind is given back in a quiet moment: keys, values and scores lie in arrays that are small objects to
// the collector of garbage, which may leave hundreds of megabytes where they are for as long as nothing happens.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Clock } from "../../base/domain/clock.ts";

/** Longer than the gaps between the requests of a busy server: a collection takes some ten milliseconds. */
const quietMs = 1000;

/** Collects garbage once after each stretch of work. */
export class QuietCollection {
  readonly #clock: Clock;
  readonly #collect: () => void;
  #isWaiting = false;
  #wasBusy = false;

  /** @param collect frees what nothing holds any more */
  constructor(clock: Clock, collect: () => void) {
    this.#clock = clock;
    this.#collect = collect;
  }

  /** Work is going on. Called at each step. */
  postpone(): void {
    this.#wasBusy = true;
    if (!this.#isWaiting) void this.#collectWhenQuiet();
  }

  async #collectWhenQuiet(): Promise<void> {
    this.#isWaiting = true;
    while (this.#wasBusy) {
      this.#wasBusy = false;
      await this.#clock.sleep(quietMs);
    }
    this.#isWaiting = false;
    this.#collect();
  }
}

/** V8's own collector, which programs see only behind a flag. It frees all at once, and returns when it has. */
export function garbageCollector(): () => void {
  setFlagsFromString("--expose-gc");
  // In a context made after the flag was set this name is that function.
  return runInNewContext("gc") as () => void;
}
