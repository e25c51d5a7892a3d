// The vLLM servers that compute one base model ("replicas"). Identifies them at the start, probes their health while it
// runs, and chooses one of them for each request.
import { present } from "../../../base/domain/assert.ts";
import type { Clock } from "../../../base/domain/clock.ts";
import type { GenerationRequest } from "../../../base/domain/generation.ts";
import { secureBytes } from "../../../base/domain/random.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { Logger } from "../../../base/telemetry/logger.ts";
import { countSequences } from "../client/completion-body.ts";
import type { ServerFacts } from "../client/server-facts.ts";
import { chooseReplica, hashPrefix } from "./choose-replica.ts";
import { extraBackOffMs } from "./back-off.ts";
import { RecentRequests } from "./recent-requests.ts";
import type { Replica } from "./replica.ts";
import { AdmissionQueue, type PlaceCounts, type AdmissionQueueOptions } from "./admission-queue.ts";

export interface ReplicaSetOptions {
  /** Replicas of the base model, at least one. */
  readonly replicas: readonly Replica[];
  readonly queue: AdmissionQueueOptions;
  /** Maximum time in milliseconds that `start` waits until the first server responds. */
  readonly startMs: number;
  /** Interval in milliseconds between health probes of a server. */
  readonly lookMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface EnterOptions {
  /** Number of requests that arrived before this one. */
  readonly arrival: number;
  /** Replicas that have already failed this request. */
  readonly tried: ReadonlySet<Replica>;
  readonly signal: AbortSignal;
}

/** A replica that has admitted a particular request. */
export interface EnteredReplica extends ReadyReplica {
  /** Frees the request's room on the replica. Must be called when the request has ended there; idempotent. */
  readonly leave: () => void;
}

/** A replica that is reachable, with the facts about its server. */
export interface ReadyReplica {
  readonly replica: Replica;
  readonly facts: ServerFacts;
}

/** Codes of errors that do not go away by waiting. */
const lastingFaults: ReadonlySet<string> = new Set(["unsupported", "conflict"]);

/** Pause in milliseconds between attempts to reach a server that has not responded yet. */
const retryMs = 500;

export class ReplicaSet {
  readonly replicas: readonly Replica[];
  readonly #options: ReplicaSetOptions;
  readonly #queue: AdmissionQueue<Replica>;
  readonly #stopping = new AbortController();
  readonly #watches: Promise<void>[] = [];
  readonly #recent: RecentRequests<Replica>;

  constructor(options: ReplicaSetOptions) {
    this.#options = options;
    this.replicas = options.replicas;
    this.#recent = new RecentRequests(options.replicas);
    this.#queue = new AdmissionQueue(options.queue);
    for (const replica of this.replicas)
      replica.onLeft = () => this.#queue.refuseBut(this.replicas, this.#noneLeft());
  }

  /** Returns the replicas that are reachable now. */
  ready(): readonly ReadyReplica[] {
    return this.replicas.flatMap((replica) =>
      replica.facts === null ? [] : [{ replica, facts: replica.facts }],
    );
  }

  /** Reason why no replica is reachable, as a text for operators. */
  get fault(): string {
    return this.replicas.map(({ server, fault }) => `${server.name}: ${fault}`).join(" ");
  }

  /**
   * Resolves once a server responds, or after the start timeout; the set then continues to try in the background.
   *
   * @throws ServiceError the error of a server that can never serve, such as one with an unsupported version
   */
  async start({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    const waiting = AbortSignal.any([signal, this.#stopping.signal]);
    await this.#firstAnswer(waiting);
    for (const replica of this.replicas) this.#watches.push(this.#watch(replica));
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new ServiceError({ code: "unavailable", message: "The engine is being stopped." }));
    for (const replica of this.replicas) replica.stop();
    await Promise.all(this.#watches);
  }

  /**
   * Chooses a replica for a request; see {@link chooseReplica}. Prefers replicas that can begin the request
   * immediately.
   *
   * @param tried replicas that have already failed the request
   * @throws ServiceError `unavailable` if no replica is left
   */
  choose(request: GenerationRequest, tried: ReadonlySet<Replica> = new Set()): ReadyReplica {
    const ready = this.ready().filter(({ replica }) => !tried.has(replica));
    const free = ready.filter(({ replica }) => this.#queue.roomAt(replica) > 0);
    const candidates = (free.length > 0 ? free : ready).map(({ replica, facts }) => {
      const { runningSequences, waitingSequences } = this.#queue.countsAt(replica);
      const runningCount = runningSequences + waitingSequences;
      const recentCount = this.#recent.countOf(replica);
      return { hash: replica.hash, runningCount, recentCount, chosen: { replica, facts } };
    });
    if (candidates.length > 0) return chooseReplica(candidates, hashPrefix(request)).chosen;
    throw this.#noneLeft();
  }

  /**
   * Waits until a replica admits the request: either the chosen one, or another one that has room earlier.
   *
   * @throws ServiceError like {@link choose}; also `overloaded` if no replica admitted the request in time
   * @throws the reason of `signal`, if that aborts
   */
  async enter(request: GenerationRequest, { arrival, tried, signal }: EnterOptions): Promise<EnteredReplica> {
    const { priority, cacheOwner: owner } = request;
    const slotCount = countSequences(request);
    const mayUse = (one: Replica): boolean => one.facts !== null && !tried.has(one);
    for (;;) {
      const { replica: home } = this.choose(request, tried);
      const turn = { owner, priority, arrival, slotCount, home, mayUse };
      const admission = await this.#queue.take(turn, { signal });
      const { place: replica } = admission;
      const leave = (): void => {
        admission.leave();
        this.#queue.offer(replica);
      };
      const { facts } = replica;
      if (facts !== null) {
        this.#recent.add(replica);
        return { replica, facts, leave };
      }
      // The replica became unreachable at the moment when it admitted the request, so the loop tries again.
      leave();
    }
  }

  /** Returns a replica's current load. */
  countsAt(replica: Replica): PlaceCounts {
    return this.#queue.countsAt(replica);
  }

  #noneLeft(): ServiceError {
    return new ServiceError({
      code: "unavailable",
      message: "No server that computes this model answers; try again later.",
      retryAfterSeconds: 2,
      cause: new Error(this.fault),
    });
  }

  async #firstAnswer(signal: AbortSignal): Promise<void> {
    const { clock, startMs, logger } = this.#options;
    const endMs = clock.monotonicMs() + startMs;
    for (let isFirst = true; ; isFirst = false) {
      const results = await Promise.allSettled(this.replicas.map((replica) => replica.join({ signal })));
      signal.throwIfAborted();
      if (this.ready().length > 0) return;
      const errors = results.flatMap((result) =>
        result.status === "rejected" ? [result.reason as unknown] : [],
      );
      const lasting = errors.findIndex(
        (error) => error instanceof ServiceError && lastingFaults.has(error.code),
      );
      if (lasting >= 0) throw withName(errors[lasting], this.replicas[lasting]);
      if (isFirst) logger.warn({ fault: this.fault }, "no vLLM server of this model answers yet");
      if (clock.monotonicMs() >= endMs) return;
      await clock.sleep(retryMs, { signal });
    }
  }

  /** Probes the health of one server repeatedly, until the set is stopped. */
  async #watch(replica: Replica): Promise<void> {
    const { clock, lookMs, logger } = this.#options;
    const { signal } = this.#stopping;
    const { name } = replica.server;
    const pause = async (ms: number): Promise<void> =>
      await clock.sleep(ms, { signal }).catch(() => undefined);
    const tellLeft = (error: unknown): void =>
      logger.error({ server: name, err: error }, "a vLLM server does not answer");
    while (!signal.aborted) {
      const wasReady = replica.facts !== null;
      await pause(lookMs);
      const isReady = replica.facts !== null;
      // The replica became unreachable during the pause, because requests to it failed.
      if (wasReady && !isReady && !signal.aborted) tellLeft(new Error(replica.fault));
      if (!isReady) await pause(extraBackOffMs(lookMs, replica.absenceCount, secureBytes(1)[0] / 255));
      if (signal.aborted) return;
      try {
        if (isReady) await replica.server.health({ signal });
        else {
          const others = this.ready().map((ready) => ready.replica);
          const { version } = await replica.join({ signal });
          this.#recent.join(replica, others);
          logger.info({ server: name, version }, "a vLLM server answers");
          this.#queue.offer(replica);
        }
      } catch (error) {
        if (signal.aborted || !isReady) continue;
        replica.leave(error);
        tellLeft(error);
      }
    }
  }
}

function withName(error: unknown, replica: Replica | undefined): ServiceError {
  const { server } = present(replica, "every fault is one replica's");
  const { code, message } = present(
    error instanceof ServiceError ? error : null,
    "a lasting fault has a code",
  );
  return new ServiceError({ code, message: `The vLLM server ${server.name}: ${message}`, cause: error });
}
