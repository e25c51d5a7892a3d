// Admits one request under the limits of its key and its entity. Decides whether the request may run, counts it while
// it runs, and at its end releases the tokens that it reserved but did not use.
import {
  LimitRefusal,
  type Allowance,
  type KeyLimits,
  type Limited,
  type RateKind,
  type RateStanding,
  type RateStandings,
  type TokenReservation,
} from "../../../base/domain/keys/limits.ts";
import { remainingAt, secondsUntil, slotAt, usedAt } from "./rate-window.ts";
import type { SharedCounts } from "./shared-counts.ts";

export type LimitName = Exclude<keyof KeyLimits, "queuedJobs">;

/** Called for each refusal with the exceeded limit and the key or entity that exceeded it. */
export type OnRefusal = (limit: LimitName, of: Limited) => void;

const rates = { requests: "requestsPerMinute", tokens: "tokensPerMinute" } as const satisfies Readonly<
  Record<RateKind, LimitName>
>;

export class Admission implements Allowance {
  readonly #counts: SharedCounts;
  readonly #all: readonly Limited[];
  readonly #onRefusal: OnRefusal;
  /** Subset of the request's key and entity: those with a limit on running requests. */
  readonly #running: readonly Limited[];
  #isInside = false;
  /**
   * Amounts that this request has added to the counts of its key and entity: 0 or 1 requests, and a number of tokens.
   */
  #requests = 0;
  #tokens = 0;
  /** Time slot of the sliding window in which this request is counted. */
  #slot = 0;
  /** Number of prompts of this request that wait in each model's queue, by model name. */
  readonly #waiting = new Map<string, number>();

  constructor(counts: SharedCounts, all: readonly Limited[], onRefusal: OnRefusal) {
    this.#counts = counts;
    this.#all = all;
    this.#onRefusal = onRefusal;
    this.#running = all.filter(({ limits }) => limits.concurrentRequests !== null);
  }

  /**
   * Refuses the request early, based only on the counts that this server has in memory. It does not read the other
   * servers' counts from the database.
   *
   * @throws LimitRefusal if one more request would exceed a limit
   */
  refuseFull(): void {
    for (const limited of this.#all) {
      this.#refuseRunning(limited, 1);
      this.#refuseUsed("requests", limited, 1);
      this.#refuseUsed("tokens", limited, 1);
    }
  }

  /** Adds this request to the counts of its key and entity. */
  enter(): void {
    this.#slot = slotAt(this.#counts.seconds);
    this.#count(1);
    this.#isInside = true;
  }

  /**
   * Checks the request, which {@link enter} has already counted, against the latest counts of all servers.
   *
   * @throws LimitRefusal if the request exceeds a limit; it is then removed from the counts
   */
  confirm(): void {
    try {
      for (const limited of this.#all) {
        this.#refuseRunning(limited, 0);
        this.#refuseUsed("requests", limited, 0);
        this.#refuseUsed("tokens", limited, 1);
      }
    } catch (error) {
      this.#count(-1);
      this.#isInside = false;
      throw error;
    }
  }

  leave(): void {
    if (this.#isInside) for (const { subject } of this.#running) this.#counts.run(subject, -1);
    this.#isInside = false;
  }

  /**
   * Adds the request to the counts of its key and entity, even if they have no limit on requests.
   *
   * @param by 1 to add the request, -1 to remove it
   */
  #count(by: 1 | -1): void {
    for (const { subject } of this.#all) this.#counts.add(subject, this.#slot, { requests: by });
    for (const { subject } of this.#running) this.#counts.run(subject, by);
    this.#requests += by;
  }

  get standings(): RateStandings {
    return { requests: this.#tightest("requests"), tokens: this.#tightest("tokens") };
  }

  reserve(tokens: number): TokenReservation {
    const limited = this.#limitedBy("tokens");
    for (const one of limited) this.#refuseUsed("tokens", one, tokens);
    const slot = slotAt(this.#counts.seconds);
    let [counted, used] = [0, 0];
    const count = (more: number, inSlot: number): void => {
      for (const { subject } of limited) this.#counts.add(subject, inSlot, { tokens: more });
      counted += more;
      this.#tokens += more;
    };
    count(tokens, slot);
    return {
      use: (total) => {
        used = total;
        if (used > counted) count(used - counted, slotAt(this.#counts.seconds));
      },
      settle: () => {
        if (used < counted) count(used - counted, slot);
      },
    };
  }

  wait(model: string, waitingCountMax: number): () => void {
    const limited = this.#all.filter(({ limits }) => limits.queuePercent !== null);
    for (const one of limited) this.#refuseWaiting(one, model, waitingCountMax);
    const change = (by: number): void => {
      for (const waiting of [
        this.#waiting,
        ...limited.map(({ subject }) => this.#counts.of(subject).waiting),
      ]) {
        const count = (waiting.get(model) ?? 0) + by;
        if (count === 0) waiting.delete(model);
        else waiting.set(model, count);
      }
    };
    change(1);
    let isWaiting = true;
    return () => {
      if (isWaiting) change(-1);
      isWaiting = false;
    };
  }

  #limitedBy(kind: RateKind): readonly Limited[] {
    return this.#all.filter(({ limits }) => limits[rates[kind]] !== null);
  }

  /** @param more number of additional requests that must fit under the limit; 0 if this request is already counted */
  #refuseRunning(limited: Limited, more: 0 | 1): void {
    const { subject, limits, name } = limited;
    const { running, othersRunning } = this.#counts.of(subject);
    const count = running + othersRunning;
    if (limits.concurrentRequests === null || count + more <= limits.concurrentRequests) return;
    const others = count + more - 1;
    const message = `${name} has ${inWords(others, "request")} being answered, and may have ${limits.concurrentRequests}. Wait for one to end.`;
    this.#refuse("concurrentRequests", limited, { message, retryAfterSeconds: 1 });
  }

  /** @param count amount that must fit under the limit, besides the amount that this request has already added */
  #refuseUsed(kind: RateKind, limited: Limited, count: number): void {
    const limit = limited.limits[rates[kind]];
    if (limit === null) return;
    const { seconds } = this.#counts;
    const window = this.#counts.of(limited.subject).window(kind);
    const own = kind === "tokens" ? this.#tokens : this.#requests;
    const others = Math.max(0, usedAt(window, seconds) - own);
    // A request that needs more than a whole minute's limit could never fit. It is therefore admitted when no other
    // request's usage counts in the window.
    const needed = Math.min(own + count, limit);
    if (others + needed <= limit) return;
    const wait = secondsUntil(window, seconds, limit - needed + own);
    const retryAfterSeconds = Math.max(1, Math.ceil(wait));
    const reached =
      kind === "requests"
        ? `may send ${inWords(limit, "request")} a minute and has sent them`
        : `may use ${inWords(limit, "token")} a minute; ${Math.ceil(others)} are used or spoken for, and this request needs ${own + count === 1 ? "some" : own + count}`;
    const message = `${limited.name} ${reached}. Try again in ${retryAfterSeconds} s.`;
    this.#refuse(rates[kind], limited, { message, retryAfterSeconds });
  }

  #refuseWaiting(limited: Limited, model: string, waitingCountMax: number): void {
    const { subject, limits, name } = limited;
    const { queuePercent } = limits;
    if (queuePercent === null) return;
    const countMax = Math.max(1, Math.floor((waitingCountMax * queuePercent) / 100));
    // A request may add several prompts to a model's queue. If no other request of the key or entity waits, it may add
    // any number of them.
    const own = this.#waiting.get(model) ?? 0;
    const others = (this.#counts.of(subject).waiting.get(model) ?? 0) - own;
    if (others + Math.min(own + 1, countMax) <= countMax) return;
    const message = `${name} has ${inWords(others, "request")} waiting for this model, and may have ${countMax}, ${queuePercent} % of the ${waitingCountMax} that may wait. Try again when some have begun.`;
    this.#refuse("queuePercent", limited, { message, retryAfterSeconds: 2 });
  }

  #refuse(
    limit: LimitName,
    limited: Limited,
    about: { readonly message: string; readonly retryAfterSeconds: number },
  ): never {
    this.#onRefusal(limit, limited);
    throw new LimitRefusal({ ...about, standings: this.standings });
  }

  #tightest(kind: RateKind): RateStanding | null {
    const { seconds } = this.#counts;
    const standings = this.#limitedBy(kind).flatMap(({ subject, limits }): readonly RateStanding[] => {
      const limit = limits[rates[kind]];
      if (limit === null) return [];
      const window = this.#counts.of(subject).window(kind);
      const resetSeconds = secondsUntil(window, seconds, 0);
      return [{ limit, remaining: remainingAt(window, seconds, limit), resetSeconds }];
    });
    return standings.toSorted((one, other) => one.remaining - other.remaining).at(0) ?? null;
  }
}

function inWords(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
