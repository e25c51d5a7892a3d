// Admits requests to the vLLM servers of one base model, each of which computes a limited number of sequences at the
// same time. The order is by priority, then by the owner with the least load over all servers, then by arrival, as in
// the embedded engine (inference/engine/schedule). Among an owner's requests, one whose preferred server has room comes
// first, because that server likely has its prefix in the cache.
import type { Clock } from "../../../base/domain/clock.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { waitOver } from "../../../base/domain/waiting/wait-over.ts";
import { inStartOrder, Shares } from "../../engine/schedule/fair-shares.ts";
import { compareRanks, type SlotHolder } from "../../engine/schedule/slot-holder.ts";

/** Properties of a request that determine its place in the order. */
export interface AdmissionRequest<Place> extends Pick<
  SlotHolder,
  "owner" | "priority" | "arrival" | "slotCount"
> {
  /** Server on which the request prefers to run. */
  readonly home: Place;
  readonly mayUse: (place: Place) => boolean;
}

/** Result of admitting a request. */
export interface Admission<Place> {
  readonly place: Place;
  /** Frees the request's room on the server. Must be called when the request has ended there; idempotent. */
  readonly leave: () => void;
}

export interface AdmissionQueueOptions {
  /**
   * Maximum number of concurrent choices on a server. A request with more choices is admitted only when the server runs
   * nothing else.
   */
  readonly sequenceCountMax: number;
  /** Maximum time in milliseconds that a request waits to be admitted. */
  readonly waitMs: number;
  readonly clock: Clock;
}

/** Load of one server, and of its queue. */
export interface PlaceCounts {
  readonly runningCount: number;
  readonly runningSequences: number;
  readonly waitingCount: number;
  readonly waitingSequences: number;
}

type Counts = { -readonly [Name in keyof PlaceCounts]: PlaceCounts[Name] };

interface Waiter<Place> extends SlotHolder, AdmissionRequest<Place> {
  readonly begin: (admission: Admission<Place>) => void;
  readonly refuse: (error: unknown) => void;
}

/**
 * Budget that makes an owner's share depend only on its number of sequences, because vLLM manages its own cache and
 * memory.
 */
const sequencesAlone = { slotCountMax: 1, kvCacheBytesMax: Infinity, bytesPerPosition: 0, bytesPerSlot: 0 };
const unplaced = { laneId: "", positionCountMax: 0 };

export class AdmissionQueue<Place> {
  readonly #options: AdmissionQueueOptions;
  readonly #counts = new Map<Place, Counts>();
  /** Waiting requests, in the order of {@link compareRanks}. */
  readonly #waiting: Waiter<Place>[] = [];
  readonly #shares = new Shares([], sequencesAlone);

  constructor(options: AdmissionQueueOptions) {
    this.#options = options;
  }

  /** Returns how many sequences could start on a server at once if the queue were empty. */
  roomAt(place: Place): number {
    return Math.max(0, this.#options.sequenceCountMax - this.#at(place).runningSequences);
  }

  countsAt(place: Place): PlaceCounts {
    return { ...this.#at(place) };
  }

  /**
   * Waits until the request is admitted to a server.
   *
   * @throws ServiceError `overloaded` if the request was not admitted in time; the signal's reason
   */
  async take(
    turn: AdmissionRequest<Place>,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<Admission<Place>> {
    const holder = { ...turn, ...unplaced };
    if (this.#waiting.length === 0 && this.#fits(holder, turn.home)) return this.#begin(holder, turn.home);
    signal.throwIfAborted();
    const { clock, waitMs } = this.#options;
    const over = new AbortController();
    try {
      return await new Promise((begin, refuse) => {
        const waiter: Waiter<Place> = { ...holder, begin, refuse };
        this.#add(waiter);
        const giveUp = (error: unknown): void => {
          if (this.#remove(waiter)) refuse(error);
        };
        signal.addEventListener("abort", () => giveUp(signal.reason), { once: true, signal: over.signal });
        void clock.sleep(waitMs, { signal: over.signal }).then(
          () => giveUp(tooLate(waitMs)),
          () => undefined,
        );
        this.offer(turn.home);
      });
    } finally {
      over.abort(waitOver);
    }
  }

  /** Admits waiting requests to a server in order, until the next one does not fit. */
  offer(place: Place): void {
    while (this.#waiting.length > 0 && this.#hasRoom(place)) {
      const next = this.#nextAt(place);
      if (next === null || !this.#fits(next, place)) return;
      this.#remove(next);
      next.begin(this.#begin(next, place));
    }
  }

  /** Refuses waiting requests that may use none of the given servers. */
  refuseBut(places: readonly Place[], error: ServiceError): void {
    const lost = this.#waiting.filter(({ mayUse }) => !places.some(mayUse));
    for (const waiter of lost) if (this.#remove(waiter)) waiter.refuse(error);
  }

  #nextAt(place: Place): Waiter<Place> | null {
    const able = this.#waiting.filter(({ mayUse }) => mayUse(place));
    for (const first of inStartOrder(able, this.#shares)) {
      const isAtHome = ({ owner, priority, home }: Waiter<Place>): boolean =>
        home === place && owner === first.owner && priority === first.priority;
      return able.find(isAtHome) ?? first;
    }
    return null;
  }

  #begin(holder: SlotHolder, place: Place): Admission<Place> {
    const counts = this.#at(place);
    counts.runningCount += 1;
    counts.runningSequences += holder.slotCount;
    this.#shares.add(holder);
    let isIn = true;
    const leave = (): void => {
      if (!isIn) return;
      isIn = false;
      counts.runningCount -= 1;
      counts.runningSequences -= holder.slotCount;
      this.#shares.remove(holder);
    };
    return { place, leave };
  }

  #fits({ slotCount }: Pick<SlotHolder, "slotCount">, place: Place): boolean {
    const { runningCount, runningSequences } = this.#at(place);
    return runningCount === 0 || runningSequences + slotCount <= this.#options.sequenceCountMax;
  }

  /** True if the server has room for at least one choice. If not, the queue need not be searched. */
  #hasRoom(place: Place): boolean {
    return this.#fits({ slotCount: 1 }, place);
  }

  #at(place: Place): Counts {
    const known = this.#counts.get(place);
    if (known !== undefined) return known;
    const none = { runningCount: 0, runningSequences: 0, waitingCount: 0, waitingSequences: 0 };
    this.#counts.set(place, none);
    return none;
  }

  #add(waiter: Waiter<Place>): void {
    const counts = this.#at(waiter.home);
    counts.waitingCount += 1;
    counts.waitingSequences += waiter.slotCount;
    const before = this.#waiting.findLastIndex((other) => compareRanks(other, waiter) < 0);
    this.#waiting.splice(before + 1, 0, waiter);
  }

  /** Removes a request from the queue. Returns false if it was no longer waiting. */
  #remove(waiter: Waiter<Place>): boolean {
    const index = this.#waiting.indexOf(waiter);
    if (index < 0) return false;
    this.#waiting.splice(index, 1);
    const counts = this.#at(waiter.home);
    counts.waitingCount -= 1;
    counts.waitingSequences -= waiter.slotCount;
    return true;
  }
}

function tooLate(waitMs: number): ServiceError {
  return new ServiceError({
    code: "overloaded",
    message: `The request waited ${waitMs / 1000} s for room on a server that computes this model; try again later.`,
    retryAfterSeconds: 2,
  });
}
