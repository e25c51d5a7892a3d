// One of the servers that compute a base: what is known of it, whether it answers, and what runs on it.
import type { AdapterPlace } from "../adapters/adapter-place.ts";
import { LoadedAdapters } from "../adapters/loaded-adapters.ts";
import { readServerFacts, type ServerFacts } from "../vllm/server-facts.ts";
import type { VllmServer } from "../vllm/vllm-server.ts";

export interface ReplicaOptions {
  readonly server: VllmServer;
  readonly place: AdapterPlace;
  readonly adaptersMax: number;
  readonly vocabularySize: number;
  readonly onFault: (error: unknown, name: string) => void;
  readonly onDropped: (name: string) => void;
}

export class Replica {
  readonly server: VllmServer;
  readonly adapters: LoadedAdapters;
  readonly #vocabularySize: number;
  #facts: ServerFacts | null = null;
  #fault = "It was not asked yet.";
  #runningCount = 0;

  constructor({ server, place, adaptersMax, vocabularySize, onFault, onDropped }: ReplicaOptions) {
    this.server = server;
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

  get runningCount(): number {
    return this.#runningCount;
  }

  /** Counts a request in; what is returned counts it out, once. */
  enter(): () => void {
    this.#runningCount += 1;
    let isIn = true;
    return () => {
      if (isIn) this.#runningCount -= 1;
      isIn = false;
    };
  }

  /**
   * Asks it who it is, and takes over which adapters it has: it may have been started again.
   *
   * @throws ServiceError as `readServerFacts`; it does not answer then
   */
  async join(options: { readonly signal: AbortSignal }): Promise<ServerFacts> {
    try {
      const limits = { vocabularySize: this.#vocabularySize };
      const facts = await readServerFacts(this.server, limits, options);
      this.adapters.reconcile(facts.adapters);
      this.#fault = "";
      return (this.#facts = facts);
    } catch (error) {
      this.leave(error);
      throw error;
    }
  }

  /** It does not answer, or not as it should, until it joins again. */
  leave(reason: unknown): void {
    this.#facts = null;
    this.#fault = reason instanceof Error ? reason.message : String(reason);
  }

  stop(): void {
    this.adapters.stop();
    this.server.close();
    this.leave("It was stopped.");
  }
}
