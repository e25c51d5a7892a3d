// Exchange of prompts between this server and other servers: makes an engine hold a prompt, says where another server
// can fetch it, sends it there, and fetches prompts from other servers. Uses engines only through their contract; knows
// neither HTTP routes nor chat.
import type { Clock } from "../../base/domain/clock.ts";
import { newUuid, secureBytes } from "../../base/domain/random.ts";
import type {
  HeldPlace,
  HeldPrompt,
  PromptHold,
  PromptOrigin,
  PromptTransfers,
} from "../../base/domain/prompt-transfer.ts";
import { invalid, quoted, ServiceError } from "../../base/domain/service-error.ts";
import type { Logger } from "../../base/telemetry/logger.ts";
import type { Metrics } from "../../base/telemetry/metrics.ts";
import { fetchPrompt, type WantedPrompt } from "./fetch-prompt.ts";
import { ParameterSeals } from "./parameter-seals.ts";
import { findPeer, readAddress, readPeers, type Address, type Peer } from "./peers.ts";
import { encodePromptBody, type PromptBody } from "./prompt-body.ts";
import type { TransferSettings } from "./settings.ts";
import { isSigned, type TransferRequest } from "./signature.ts";
import { TransferFailure } from "./transfer-failure.ts";
import { createTransferMetrics, type TransferMetrics } from "./transfer-metrics.ts";

export interface ExchangeDependencies {
  readonly settings: TransferSettings;
  /** Identifier of the engines' build, which must be the same on the sending and on the receiving server. */
  readonly build: string;
  /** Returns the address at which this server listens. */
  readonly listening: () => Address;
  /** Engines that may hold prompts. */
  readonly engines: () => readonly PromptTransfers[];
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/** A prompt that an engine has received. */
export interface FetchedPrompt {
  readonly id: string;
  /** Number of leading tokens of the wanted prompt that the received prompt covers. */
  readonly tokenCount: number;
}

const secretLengthMin = 16;

/**
 * Creates the exchange. Returns null if the operator shares no secret with other servers.
 *
 * @throws ServiceError `invalid` for invalid settings
 */
export function createPromptExchange(dependencies: ExchangeDependencies): PromptExchange | null {
  const { secret, peers } = dependencies.settings;
  if (secret !== null && secret.length < secretLengthMin)
    throw invalid(
      `transfer.secret has ${secret.length} characters; it must have at least ${secretLengthMin}.`,
    );
  if (secret === null && peers.length > 0)
    throw invalid(
      "transfer.peers is set without transfer.secret; servers that share prompts share a secret.",
    );
  return secret === null ? null : new PromptExchange(dependencies, secret);
}

export class PromptExchange {
  readonly build: string;
  /** Seals for parameters that vLLM servers exchange. */
  readonly seals: ParameterSeals;
  readonly onFailure: TransferSettings["onFailure"];
  readonly #dependencies: ExchangeDependencies;
  readonly #secret: string;
  readonly #peers: readonly Peer[];
  readonly #address: Address | null;
  readonly #metrics: TransferMetrics;
  /** Identifies this process. Before a restart, another process may have served at the same address. */
  readonly #engineId = newUuid();
  #fetchingCount = 0;

  constructor(dependencies: ExchangeDependencies, secret: string) {
    const { settings, build, metrics } = dependencies;
    this.build = build;
    this.seals = new ParameterSeals({ secret, seconds: settings.holdSeconds, clock: dependencies.clock });
    this.onFailure = settings.onFailure;
    this.#dependencies = dependencies;
    this.#secret = secret;
    this.#peers = readPeers(settings.peers);
    this.#address = settings.address === null ? null : readAddress(settings.address);
    this.#metrics = createTransferMetrics(metrics, () => this.#fetchingCount);
  }

  /** Returns the options that make an engine hold a prompt, with an unguessable handle. */
  createHold(origin: PromptOrigin): PromptHold {
    const handle = Buffer.from(secureBytes(32)).toString("base64url");
    return { handle, seconds: this.#dependencies.settings.holdSeconds, origin };
  }

  /** Returns the address and handle that another server needs to fetch a held prompt. */
  placeOf({ handle }: PromptHold): HeldPlace {
    const { host, port } = this.#address ?? this.#dependencies.listening();
    return { host, port, handle, engineId: this.#engineId };
  }

  /** Returns null if a prompt may be fetched from an address; otherwise the reason why not, as a sentence. */
  refusalOf({ host, port }: Address): string | null {
    if (findPeer(this.#peers, { host, port }) !== null) return null;
    return `No prompts may be fetched from ${quoted(`${host}:${port}`)}: it is not among the servers that the operator named (transfer.peers).`;
  }

  /**
   * Fetches a prompt into an engine. The caller must drop the engine's copy.
   *
   * @param place where the prompt is held, on a server that {@link refusalOf} allows
   * @param options.requestId id of the request that needs the prompt, for the log
   * @throws TransferFailure, which is logged and counted, and the signal's reason
   */
  async receive(
    place: Omit<HeldPlace, "engineId">,
    wanted: WantedPrompt & { readonly entity: string },
    engine: PromptTransfers,
    { signal, requestId }: { readonly signal: AbortSignal; readonly requestId: string },
  ): Promise<FetchedPrompt> {
    const { clock, logger, settings } = this.#dependencies;
    const peer = findPeer(this.#peers, place);
    if (peer === null) throw new TransferFailure("refused", "it is not an allowed server");
    const startedMs = clock.monotonicMs();
    const deadline = this.#deadline(settings.fetchSeconds);
    const id = newUuid();
    const asked = { peer, request: { handle: place.handle, entity: wanted.entity }, secret: this.#secret };
    this.#fetchingCount += 1;
    try {
      const both = AbortSignal.any([signal, deadline.signal]);
      const prompt = await fetchPrompt(asked, wanted, { engine, id }, { signal: both });
      this.#metrics.moved("fetched", prompt.byteLength);
      this.#metrics.took((clock.monotonicMs() - startedMs) / 1000);
      this.#metrics.ended("fetched", "done");
      return { id, tokenCount: prompt.tokenCount };
    } catch (error) {
      await engine.drop(id).catch(() => undefined);
      this.#metrics.ended("fetched", error instanceof TransferFailure ? error.kind : "cancelled");
      if (error instanceof TransferFailure)
        logger.warn(
          { requestId, err: error.cause, peer: peer.origin, kind: error.kind },
          `a prompt could not be fetched: ${error.message}`,
        );
      throw error;
    } finally {
      this.#fetchingCount -= 1;
      deadline.end();
    }
  }

  /**
   * Takes a held prompt from its engine, to send it. A handle can be opened only once.
   *
   * @param header the client's `authorization`
   * @returns null if no prompt is held under the handle for this entity
   * @throws ServiceError `unauthorized` if the signature was made with another secret
   */
  async open(request: TransferRequest, header: string | undefined): Promise<PromptBody | null> {
    if (!isSigned(this.#secret, request, header)) {
      this.#metrics.ended("sent", "refused");
      throw new ServiceError({
        code: "unauthorized",
        message: "The signature was not made with this server's secret.",
      });
    }
    for (const engine of this.#dependencies.engines()) {
      // An engine that is not running holds no prompts.
      const prompt = await engine.take(request.handle, request.entity).catch(() => null);
      if (prompt !== null) return this.#encodePromptBody(prompt, request.handle, engine);
    }
    this.#metrics.ended("sent", "gone");
    return null;
  }

  #encodePromptBody(prompt: HeldPrompt, handle: string, engine: PromptTransfers): PromptBody {
    const read = (offset: number, count: number): Promise<Uint8Array> => engine.read(handle, offset, count);
    const { byteLength, pieces } = encodePromptBody(prompt, read, { secret: this.#secret, handle });
    return { byteLength, pieces: this.#watched(pieces, () => engine.drop(handle)) };
  }

  /**
   * Yields the pieces and counts their bytes. At the end, also after a failure, drops the engine's copy of the prompt.
   */
  async *#watched(
    pieces: AsyncIterable<Uint8Array>,
    drop: () => Promise<void>,
  ): AsyncGenerator<Uint8Array, void> {
    let outcome = "cancelled";
    try {
      for await (const piece of pieces) {
        yield piece;
        this.#metrics.moved("sent", piece.length);
      }
      outcome = "done";
    } finally {
      this.#metrics.ended("sent", outcome);
      await drop().catch(() => undefined);
    }
  }

  /** Returns a signal that aborts after some seconds, unless `end` is called earlier. */
  #deadline(seconds: number): { readonly signal: AbortSignal; readonly end: () => void } {
    const late = new AbortController();
    const over = new AbortController();
    void this.#dependencies.clock.sleep(seconds * 1000, { signal: over.signal }).then(
      () => late.abort(new TransferFailure("timeout", `it did not send the prompt within ${seconds} s`)),
      () => undefined,
    );
    return { signal: late.signal, end: () => over.abort() };
  }
}
