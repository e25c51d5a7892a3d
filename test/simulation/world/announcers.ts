// Announcements between the servers of a simulated world. Each server receives an announcement slightly later, or
// never. The reaction to it is the product's own code.
import type { AnnouncedKind } from "../../../src/base/domain/servers/pubsub.ts";
import { type Announcer, LocalAnnouncer } from "../../../src/store/database/pubsub/announcer.ts";
import type { SimulatedProcess } from "./process.ts";
import type { Scheduler } from "./scheduler.ts";

/** Maximum delay of an announcement in milliseconds. */
const lateMsMax = 50;

export class Announcers {
  readonly #scheduler: Scheduler;
  readonly #isLost: () => boolean;
  readonly #ends = new Map<SimulatedProcess, LocalAnnouncer>();

  /** @param isLost called for each recipient; true if the announcement is lost */
  constructor(scheduler: Scheduler, isLost: () => boolean) {
    this.#scheduler = scheduler;
    this.#isLost = isLost;
  }

  /** Returns the announcer of a process. */
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
