// Announcements between the servers of a simulated world: each server hears of a change a little later, or never. The
// reaction is the product's own code.
import type { AnnouncedKind } from "../../../src/base/domain/servers/pubsub.ts";
import { type Announcer, LocalAnnouncer } from "../../../src/store/database/pubsub/announcer.ts";
import type { SimulatedProcess } from "./process.ts";
import type { Scheduler } from "./scheduler.ts";

/** Milliseconds until one is heard. */
const lateMsMax = 50;

export class Announcers {
  readonly #scheduler: Scheduler;
  readonly #isLost: () => boolean;
  readonly #ends = new Map<SimulatedProcess, LocalAnnouncer>();

  /** @param isLost asked for each who is to hear */
  constructor(scheduler: Scheduler, isLost: () => boolean) {
    this.#scheduler = scheduler;
    this.#isLost = isLost;
  }

  /** The end of a process. */
  join(process: SimulatedProcess): Announcer {
    const here = new LocalAnnouncer();
    this.#ends.set(process, here);
    process.onDeath(() => this.#ends.delete(process));
    return {
      announce: (kind, id) => this.#announce(kind, id),
      listen: (kind, hear) => here.listen(kind, hear),
    };
  }

  #announce(kind: AnnouncedKind, id: string): void {
    for (const [process, end] of this.#ends) {
      if (this.#isLost()) continue;
      const lateMs = this.#scheduler.shortTime(lateMsMax);
      this.#scheduler.after(lateMs, `${kind} ${id}`, process, () => end.announce(kind, id));
    }
  }
}
