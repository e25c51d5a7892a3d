// A replica: one of the vLLM servers that compute the same base model. Tracks the facts that the server reports,
// whether the server is reachable, and which adapters it has loaded.
import type { AdapterFolders } from "../adapters/adapter-folders.ts";
import { LoadedAdapters } from "../adapters/loaded-adapters.ts";
import { probeBody } from "../client/completion-body.ts";
import { readServerFacts, type ServerFacts } from "../client/server-facts.ts";
import type { VllmServer } from "../client/vllm-server.ts";
import { hashAddress } from "./choose-replica.ts";

export interface ReplicaOptions {
  readonly server: VllmServer;
  readonly place: AdapterFolders;
  readonly adaptersMax: number;
  readonly vocabularySize: number;
  readonly onFault: (error: unknown, name: string) => void;
  readonly onDropped: (name: string) => void;
}

/** Number of consecutive failed requests after which the replica gets no more requests until it has rejoined. */
const failuresMax = 3;

export class Replica {
  /** Hash of the replica's address. */
  readonly hash: number;
  readonly server: VllmServer;
  readonly adapters: LoadedAdapters;
  /** Called each time the replica becomes unreachable. */
  onLeft: () => void = () => undefined;
  readonly #vocabularySize: number;
  #facts: ServerFacts | null = null;
  #fault = "It has not been probed yet.";
  #failureCount = 0;
  #failureTotal = 0;
  #absenceCount = 0;

  constructor(options: ReplicaOptions) {
    const { server, place, adaptersMax, vocabularySize, onFault, onDropped } = options;
    this.server = server;
    this.hash = hashAddress(server.name);
    this.#vocabularySize = vocabularySize;
    this.adapters = new LoadedAdapters({ server, place, countMax: adaptersMax, onFault, onDropped });
  }

  /** Facts about the server while it is reachable; null otherwise. */
  get facts(): ServerFacts | null {
    return this.#facts;
  }

  /** Reason why the server is unreachable, as a text for operators; empty while the server is reachable. */
  get fault(): string {
    return this.#fault;
  }

  /** Number of requests that failed on this replica, including those that another replica then answered. */
  get failureTotal(): number {
    return this.#failureTotal;
  }

  /** Number of times that the replica became unreachable since it last answered a request. */
  get absenceCount(): number {
    return this.#absenceCount;
  }

  /**
   * Makes the replica reachable: reads the server's facts and its list of loaded adapters, because the server may have
   * been restarted. If requests failed before, the server must first generate a token as a probe, so that no client's
   * request serves as the test.
   *
   * @throws ServiceError as `readServerFacts`; the replica is then unreachable
   */
  async join(options: { readonly signal: AbortSignal }): Promise<ServerFacts> {
    try {
      const limits = { vocabularySize: this.#vocabularySize };
      const { server } = this;
      // Health is checked first. A server that is draining reports bad health, but still responds to all other calls.
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

  /** Records a completed request. Must be called when the replica has completed one. */
  succeeded(): void {
    this.#failureCount = 0;
    this.#absenceCount = 0;
  }

  /**
   * Records a request that failed through the replica's own fault. After several such failures in a row, the replica
   * counts as unreachable. After it becomes reachable again, a single failure suffices until it has completed a
   * request.
   */
  failed(reason: unknown): void {
    this.#failureCount += 1;
    this.#failureTotal += 1;
    if (this.#failureCount >= failuresMax) this.leave(reason);
  }

  /** Marks the replica as unreachable until {@link join} succeeds. */
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
