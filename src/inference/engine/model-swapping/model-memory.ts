// Memory that several base models share. A request holds the base model (base) that it runs on, or waits until that
// base is loaded. `planRoom` decides which bases to load and unload, this module carries out the plan, and each base
// implements its own loading.
import { assert } from "../../../base/domain/assert.ts";
import type { Clock } from "../../../base/domain/clock.ts";
import { invalid, ServiceError } from "../../../base/domain/service-error.ts";
import { waitOver } from "../../../base/domain/waiting/wait-over.ts";
import { planRoom, type RoomLimits, type PlannedBase } from "./plan-room.ts";

export interface MemoryOptions {
  readonly limits: RoomLimits;
  /** Maximum time that a request waits for room, in milliseconds. */
  readonly waitMs: number;
  /** Maximum number of waiting requests, over all bases. */
  readonly waitingCountMax: number;
  readonly clock: Clock;
  readonly observer?: MemoryObserver;
}

/** Observer of loads and unloads, for logs and metrics. */
export interface MemoryObserver {
  loaded(name: string, durationMs: number): void;
  loadFailed(name: string, error: unknown): void;
  unloaded(name: string, why: UnloadReason): void;
}

/** Reason for an unload; `asked` if an operator requested it. */
export type UnloadReason = "idle" | "room" | "asked";

/** A base model that can be loaded and unloaded. */
export interface Loadable {
  readonly name: string;
  readonly bytes: number;
  readonly isKept: boolean;
  /** Loads the base. If this rejects, `unload` is called to clean up. */
  load(): Promise<void>;
  unload(): Promise<void>;
}

/**
 * State of a base model in reports. `waiting`: not loaded, and requests wait for room in memory; `failed`: the last
 * load failed.
 */
export type Presence =
  | { readonly kind: "loaded" | "loading" | "unloading" | "unloaded" }
  | { readonly kind: "waiting" | "failed"; readonly reason: string };

interface Waiter {
  readonly signal: AbortSignal;
  readonly admit: () => void;
  readonly refuse: (error: ServiceError) => void;
}

interface Failure {
  readonly reason: string;
  readonly retryAtMs: number;
  readonly count: number;
}

/**
 * Delay in milliseconds before a load may be tried again after it failed. The delay doubles with each further failure.
 */
const backOffFirstMs = 1000;
const backOffMaxMs = 60_000;

export class ModelMemory {
  readonly #options: MemoryOptions;
  readonly #places: MemorySlot[] = [];
  #claimCount = 0;
  #waking = new AbortController();

  constructor(options: MemoryOptions) {
    this.#options = options;
  }

  /** Memory limit in bytes; Infinity if unlimited. */
  get bytesMax(): number {
    return this.#options.limits.bytesMax;
  }

  /** Estimated memory in bytes of all bases that are loaded, being loaded or being unloaded. */
  get bytes(): number {
    return this.#places.reduce((sum, { bytes, isAway }) => sum + (isAway ? 0 : bytes), 0);
  }

  get waitingCount(): number {
    return this.#places.reduce((sum, { waitingCount }) => sum + waitingCount, 0);
  }

  /**
   * Adds a base model, which is not loaded yet.
   *
   * @throws ServiceError `invalid` for a base that exceeds the memory limit even by itself
   */
  add(loadable: Loadable): MemorySlot {
    const { bytesMax } = this;
    if (loadable.bytes > bytesMax) {
      const message =
        `The base model ${loadable.name} needs ${shownBytes(loadable.bytes)} of memory, and \`models.memoryBytes\` allows ${shownBytes(bytesMax)}; ` +
        "raise it, or lower `engine.kvCacheBytesMax` or `engine.contextLengthMax`.";
      throw invalid(message);
    }
    const place = new MemorySlot(loadable, {
      ...this.#options,
      claim: () => ++this.#claimCount,
      waitingCount: () => this.waitingCount,
      others: (name) => this.#others(name),
      settle: () => this.#settle(),
    });
    this.#places.push(place);
    return place;
  }

  /** Names the other bases in memory, for messages to waiting callers. */
  #others(name: string): string {
    const present = this.#places.filter((place) => place.name !== name && !place.isAway);
    return present
      .map((place) => `${place.name} (${shownBytes(place.bytes)}, ${place.useCount} requests)`)
      .join(", ");
  }

  #settle(): void {
    const { clock, limits } = this.#options;
    this.#waking.abort(waitOver);
    const waking = (this.#waking = new AbortController());
    const nowMs = clock.monotonicMs();
    const waiting = this.#places
      .filter(({ waitingCount }) => waitingCount > 0)
      .sort((one, other) => one.claim - other.claim)
      .map(({ name }) => name);
    const plan = planRoom(
      this.#places.map((place) => place.tenant),
      waiting,
      { limits, nowMs },
    );
    for (const place of this.#places) {
      const goes = plan.unload.find(({ name }) => name === place.name);
      if (goes === undefined) place.setClosed(plan.closed.has(place.name));
      else place.unload(goes.why);
      if (plan.load.includes(place.name)) void place.load().catch(() => undefined);
    }
    if (plan.wakeAtMs === Infinity) return;
    clock.sleep(plan.wakeAtMs - nowMs, { signal: waking.signal }).then(
      () => this.#settle(),
      () => undefined,
    );
  }
}

interface PlaceOptions extends Omit<MemoryOptions, "limits"> {
  /** Returns a number that is greater than all earlier ones, for the next place in the queue for memory. */
  readonly claim: () => number;
  readonly waitingCount: () => number;
  readonly others: (name: string) => string;
  /** Plans loads and unloads. Must be called after every change of a base's state or requests. */
  readonly settle: () => void;
}

/** One base model's entry in the shared memory: its state, and the requests that run on it or wait for it. */
export class MemorySlot {
  readonly #loadable: Loadable;
  readonly #options: PlaceOptions;
  readonly #waiters = new Set<Waiter>();
  /** Number of running requests for each abort signal. Requests that end together share a signal. */
  readonly #running = new Map<AbortSignal, number>();
  #state: PlannedBase["state"] = "unloaded";
  #useCount = 0;
  #isClosed = false;
  #isOver = false;
  #loadedAtMs = 0;
  #usedAtMs = 0;
  #claim = 0;
  #failure: Failure | null = null;
  /** Promise of the load or unload in progress. */
  #changing: Promise<void> = Promise.resolve();

  constructor(loadable: Loadable, options: PlaceOptions) {
    this.#loadable = loadable;
    this.#options = options;
  }

  get name(): string {
    return this.#loadable.name;
  }

  get bytes(): number {
    return this.#loadable.bytes;
  }

  get isAway(): boolean {
    return this.#state === "unloaded";
  }

  get useCount(): number {
    return this.#useCount;
  }

  get waitingCount(): number {
    return this.#waiters.size;
  }

  /** Place of the base in the queue for memory; lower values come first. */
  get claim(): number {
    return this.#claim;
  }

  get tenant(): PlannedBase {
    return {
      name: this.name,
      bytes: this.bytes,
      state: this.#state,
      isBusy: this.#useCount > 0,
      isClosed: this.#isClosed,
      isKept: this.#loadable.isKept,
      loadedAtMs: this.#loadedAtMs,
      usedAtMs: this.#usedAtMs,
    };
  }

  get presence(): Presence {
    if (this.#state !== "unloaded") return { kind: this.#state };
    if (this.#waiters.size > 0) {
      const reason = `${this.#waiters.size} requests wait for memory, which is held by ${this.#options.others(this.name)}.`;
      return { kind: "waiting", reason };
    }
    return this.#failure === null ? { kind: "unloaded" } : { kind: "failed", reason: this.#failure.reason };
  }

  /**
   * Waits until the base is loaded and the request may run. The base then stays loaded until the returned function is
   * called.
   *
   * @param signal shared by requests that end together: while one of them runs, the others need not wait, because they
   * may depend on each other
   * @throws ServiceError `unavailable` if the base cannot be loaded, no room was freed in time, or the base is being
   * stopped; `overloaded` if too many requests wait; `cancelled` when the signal aborts
   */
  hold({ signal }: { readonly signal: AbortSignal }): Promise<() => void> {
    const { clock, waitingCountMax, waitingCount, claim, waitMs } = this.#options;
    if (this.#isOver) return Promise.reject(stopping());
    const isOpen = this.#state === "loaded" && (!this.#isClosed || this.#running.has(signal));
    if (isOpen) return Promise.resolve(this.#enter(signal));
    const failure = this.#state === "unloaded" ? this.#failure : null;
    if (failure !== null && clock.monotonicMs() < failure.retryAtMs) {
      return Promise.reject(notLoaded(failure.reason, failure.retryAtMs - clock.monotonicMs()));
    }
    if (waitingCount() >= waitingCountMax) return Promise.reject(tooManyWait(waitingCountMax));
    return new Promise((resolve, reject) => {
      const patience = new AbortController();
      const leave = (): void => {
        patience.abort(waitOver);
        signal.removeEventListener("abort", cancel);
        this.#waiters.delete(waiter);
      };
      const waiter: Waiter = {
        signal,
        admit: () => (leave(), resolve(this.#enter(signal))),
        refuse: (error) => (leave(), reject(error)),
      };
      const cancel = (): void => {
        waiter.refuse(new ServiceError({ code: "cancelled", message: "The request was cancelled." }));
        this.#options.settle();
      };
      const giveUp = (): void => {
        // A load that is in progress has a deadline of its own, so the request continues to wait for it.
        if (this.#state === "loading") return;
        waiter.refuse(this.#noRoom(waitMs));
        this.#options.settle();
      };
      if (signal.aborted) return cancel();
      if (this.#waiters.size === 0) this.#claim = claim();
      this.#waiters.add(waiter);
      signal.addEventListener("abort", cancel, { once: true });
      clock.sleep(waitMs, { signal: patience.signal }).then(giveUp, () => undefined);
      this.#options.settle();
    });
  }

  /**
   * Closes the base to new requests, or opens it again. If the base is loaded when it opens, its waiting requests are
   * admitted.
   */
  setClosed(isClosed: boolean): void {
    this.#isClosed = isClosed;
    if (this.#state !== "loaded" || isClosed) return;
    for (const waiter of this.#waiters) waiter.admit();
  }

  /**
   * Loads the base immediately, even if there is no room, and then admits its waiting requests.
   *
   * @throws the error of the load, which the waiting requests receive too
   */
  load(): Promise<void> {
    this.#state = "loading";
    const loading = this.#load();
    this.#changing = loading.catch(() => undefined);
    return loading;
  }

  /**
   * Unloads the base at an operator's request; does nothing if it is not loaded. The next request loads the base again.
   *
   * @throws ServiceError `conflict` while requests run on the base or wait for it
   */
  async evict(): Promise<void> {
    const count = this.#useCount + this.#waiters.size;
    if (count > 0 || this.#state === "loading") throw inUse(this.name, count);
    if (this.#state === "loaded") this.unload("asked");
    await this.#changing;
  }

  unload(why: UnloadReason): void {
    assert(this.#useCount === 0, "only an idle base is unloaded");
    this.#state = "unloading";
    this.#changing = this.#unload().then(() => this.#options.observer?.unloaded(this.name, why));
  }

  /**
   * Refuses all waiting requests and unloads the base. Resolves when the base is unloaded, so that other bases may use
   * its room.
   */
  async stop(): Promise<void> {
    this.#isOver = true;
    for (const waiter of this.#waiters) waiter.refuse(stopping());
    // Unloading also aborts a load in progress.
    await this.#loadable.unload();
    await this.#changing;
    this.#state = "unloaded";
    this.#options.settle();
  }

  #enter(signal: AbortSignal): () => void {
    const { clock, settle } = this.#options;
    let isHeld = true;
    this.#useCount += 1;
    this.#running.set(signal, (this.#running.get(signal) ?? 0) + 1);
    for (const waiter of this.#waiters) if (waiter.signal === signal) waiter.admit();
    this.#usedAtMs = clock.monotonicMs();
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#useCount -= 1;
      const left = (this.#running.get(signal) ?? 1) - 1;
      if (left === 0) this.#running.delete(signal);
      else this.#running.set(signal, left);
      this.#usedAtMs = clock.monotonicMs();
      settle();
    };
  }

  async #load(): Promise<void> {
    const { clock, settle, observer } = this.#options;
    const startedMs = clock.monotonicMs();
    try {
      await this.#loadable.load();
      this.#failure = null;
      this.#state = "loaded";
      this.#loadedAtMs = this.#usedAtMs = clock.monotonicMs();
      observer?.loaded(this.name, this.#loadedAtMs - startedMs);
      if (!this.#isOver) this.setClosed(false);
    } catch (error) {
      if (!this.#isOver) await this.#fail(error);
      throw error;
    } finally {
      settle();
    }
  }

  async #fail(error: unknown): Promise<void> {
    const { clock, observer } = this.#options;
    await this.#loadable.unload();
    const count = (this.#failure?.count ?? 0) + 1;
    const delayMs = Math.min(backOffMaxMs, backOffFirstMs * 2 ** (count - 1));
    const reason = `The model ${this.name} could not be loaded: ${reasonOf(error)}`;
    this.#failure = { reason, count, retryAtMs: clock.monotonicMs() + delayMs };
    this.#state = "unloaded";
    observer?.loadFailed(this.name, error);
    for (const waiter of this.#waiters) waiter.refuse(notLoaded(reason, delayMs));
  }

  async #unload(): Promise<void> {
    await this.#loadable.unload();
    this.#state = "unloaded";
    this.#options.settle();
  }

  #noRoom(waitedMs: number): ServiceError {
    const message =
      `The model ${this.name} is not loaded, and no memory was free for it within ${waitedMs / 1000} s: it is held by ${this.#options.others(this.name)}. ` +
      "Try again later, or raise `models.memoryBytes`.";
    return unloaded(message, 10);
  }
}

/**
 * Returns the reason of a failed load for callers; the log has the full error. The message of an operating error is
 * written for callers. The message of a programmer error is not, so callers are referred to the log.
 */
function reasonOf(error: unknown): string {
  const isForCallers = error instanceof ServiceError && error.code !== "internal";
  return isForCallers ? error.message : "the log says why.";
}

function notLoaded(reason: string, retryAfterMs: number): ServiceError {
  const retryAfterSeconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  return unloaded(
    `${reason} The next attempt is in ${retryAfterSeconds} s at the earliest.`,
    retryAfterSeconds,
  );
}

function unloaded(message: string, retryAfterSeconds: number): ServiceError {
  return new ServiceError({ code: "unavailable", obstacle: "unloaded-base", message, retryAfterSeconds });
}

function inUse(name: string, requestCount: number): ServiceError {
  const message =
    requestCount === 0
      ? `The model ${name} is being loaded. Unload it when the load has ended.`
      : `The model ${name} has ${requestCount} running or waiting requests. Unload it when they have ended.`;
  return new ServiceError({ code: "conflict", message });
}

function tooManyWait(countMax: number): ServiceError {
  const message = `${countMax} requests are already waiting for base models to load; try again later.`;
  return new ServiceError({ code: "overloaded", message, retryAfterSeconds: 10 });
}

function stopping(): ServiceError {
  return new ServiceError({
    code: "unavailable",
    message: "The engine is being stopped.",
    retryAfterSeconds: 2,
  });
}

function shownBytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(0)} MiB`;
}
