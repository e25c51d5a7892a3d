// One of the servers that compute a base: what is known of it, whether it answers, and what runs on it.
import type { AdapterPlace } from "../adapters/adapter-place.ts";
import { LoadedAdapters } from "../adapters/loaded-adapters.ts";
import { probeBody } from "../client/completion-body.ts";
import { readServerFacts, type ServerFacts } from "../client/server-facts.ts";
import type { VllmServer } from "../client/vllm-server.ts";
import { hashOf } from "./choose-replica.ts";

export interface ReplicaOptions {
  readonly server: VllmServer;
  readonly place: AdapterPlace;
  readonly adaptersMax: number;
  readonly vocabularySize: number;
  readonly onFault: (error: unknown, name: string) => void;
  readonly onDropped: (name: string) => void;
}

/** After so many requests in a row that it failed it is asked for no more until it was asked who it is. */
const failuresMax = 3;

export class Replica {
  /** Of its address. */
  readonly hash: number;
  readonly server: VllmServer;
  readonly adapters: LoadedAdapters;
  /** Called when it answers no more. */
  onLeft: () => void = () => undefined;
  readonly #vocabularySize: number;
  #facts: ServerFacts | null = null;
  #fault = "It was not asked yet.";
  #failureCount = 0;
  #failureTotal = 0;
  #absenceCount = 0;

  constructor(options: ReplicaOptions) {
    const { server, place, adaptersMax, vocabularySize, onFault, onDropped } = options;
    this.server = server;
    this.hash = hashOf(server.name);
    this.#vocabularySize = vocabularySize;
    this.adapters = new LoadedAdapters({ server, place, countMax: adaptersMax, onFault, onDropped });
  }

  /** What is known of it while it answers; null while it does not. */
  get facts(): ServerFacts | null {
    return this.#facts;
  }

  /** Why it does not answer, for people; empty while it does. */
  get fault(): string {
    return this.#fault;
  }

  /** Requests that it failed, whatever they were then answered with. */
  get failureTotal(): number {
    return this.#failureTotal;
  }

  /** How often it went since it last answered a request. */
  get absenceCount(): number {
    return this.#absenceCount;
  }

  /**
   * Asks it who it is, and takes over which adapters it has: it may have been started again. One that failed requests has to
   * compute a token first, so that no other request finds out whether it can.
   *
   * @throws ServiceError as `readServerFacts`; it does not answer then
   */
  async join(options: { readonly signal: AbortSignal }): Promise<ServerFacts> {
    try {
      const limits = { vocabularySize: this.#vocabularySize };
      const { server } = this;
      // One that drains tells all else as ever.
      await server.health(options);
      const facts = await readServerFacts(server, limits, options);
      if (this.#failureCount > 0) await server.answer(probeBody(facts.model, limits), options);
      this.adapters.reconcile(facts.adapters);
      this.#fault = "";
      return (this.#facts = facts);
    } catch (error) {
      this.leave(error);
      throw error;
    }
  }

  /** It answered a request to its end. */
  succeeded(): void {
    this.#failureCount = 0;
    this.#absenceCount = 0;
  }

  /** It failed a request, of which nothing but itself was the cause; one that was out for that has one try alone. */
  failed(reason: unknown): void {
    this.#failureCount += 1;
    this.#failureTotal += 1;
    if (this.#failureCount >= failuresMax) this.leave(reason);
  }

  /** It does not answer, or not as it should, until it joins again. */
  leave(reason: unknown): void {
    if (this.#facts !== null) this.#absenceCount += 1;
    this.#facts = null;
    this.#fault = reason instanceof Error ? reason.message : String(reason);
    this.onLeft();
  }

  stop(): void {
    this.adapters.stop();
    this.server.close();
    this.leave("It was stopped.");
  }
}
