// For contract tests: an engine that, like a remote engine, forwards requests over HTTP to another engine. It offers
// only the given features, is not exact, and knows adapters by the names under which they were loaded.
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import type {
  AdapterReference,
  ChoiceRequest,
  Engine,
  EngineCapabilities,
  EngineFeature,
  EngineState,
  EngineStatus,
  GeneratedToken,
  Generation,
  GenerationEvent,
  GenerationRequest,
} from "../../../base/domain/generation.ts";
import { serviceOf } from "../../../base/domain/lifecycle.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { toServiceError, failureOf, type Failure } from "../../../base/processes/serialized-error.ts";
import type { GenerationStream } from "../generation-stream.ts";
import { Generations, unavailable } from "../generations.ts";

/** A line of the server's response. */
type Line = { readonly events: readonly GenerationEvent[] } | { readonly failure: Failure };

export interface HttpEngineOptions {
  readonly features: readonly EngineFeature[];
  readonly waitingCountMax: number;
  /** The engine that answers the forwarded requests. It is started and stopped together with this one. */
  readonly behind: Engine;
  /** True to create an engine whose server does not listen. */
  readonly isDown?: boolean;
}

export class HttpEngine implements Engine {
  readonly capabilities: EngineCapabilities;
  readonly #generations: Generations;
  readonly #remote: RemoteServer;
  readonly #isDown: boolean;
  readonly #loaded = new Map<string, Promise<void>>();
  #lastCall = 0;
  #url = "";
  #state: EngineState = { kind: "starting", reason: "The engine has not been started." };
  readonly #life = serviceOf("engine over HTTP", {
    start: async (signal) => {
      this.#url = this.#isDown ? "http://127.0.0.1:9" : await this.#remote.start();
      const limits = await this.#post("/limits", null).catch((error: unknown) => {
        throw new ServiceError({ code: "unavailable", message: "Nothing answers.", cause: error });
      });
      // Safe cast: the answer comes from this file's own server.
      if (!signal.aborted) this.#state = { kind: "ready", limits: limits as never };
    },
    stop: async () => {
      this.#state = { kind: "stopped", reason: "The engine is stopped." };
      this.#generations.failAll("The engine is being stopped.");
      await this.#remote.stop();
    },
  });

  constructor({ features, waitingCountMax, behind, isDown = false }: HttpEngineOptions) {
    this.capabilities = { features: new Set(features), isExact: false };
    this.#generations = new Generations(this.capabilities, waitingCountMax);
    this.#remote = new RemoteServer(behind);
    this.#isDown = isDown;
  }

  start(): Promise<void> {
    return this.#life.start();
  }

  stop(): Promise<void> {
    return this.#life.stop();
  }

  submit(request: GenerationRequest): Generation {
    const abort = new AbortController();
    const ended = { state: this.#state, room: this.roomFor(request.choices) };
    const stream = this.#generations.open(request, ended, { onEnd: () => abort.abort() });
    void this.#answer({ ...request, id: `call ${++this.#lastCall}` }, stream, abort.signal);
    return stream;
  }

  roomFor({ kind }: ChoiceRequest): number {
    return this.#state.kind === "ready" && kind === "sample" ? this.#state.limits.contextLength : 0;
  }

  prepareAdapter(reference: AdapterReference): Promise<void> {
    if (this.#state.kind !== "ready") return Promise.reject(unavailable(this.#state.reason));
    const name = nameOf(reference);
    const loading =
      this.#loaded.get(name) ??
      this.#post("/v1/load_lora_adapter", { ...reference, id: name }).then(() => undefined);
    this.#loaded.set(name, loading);
    loading.catch(() => this.#loaded.delete(name));
    return loading;
  }

  dropAdapter(id: string): void {
    for (const name of this.#loaded.keys()) {
      if (!name.startsWith(`${id}@`)) continue;
      this.#loaded.delete(name);
      void this.#post("/v1/unload_lora_adapter", { id: name });
    }
  }

  status(): EngineStatus {
    return this.#generations.status(this.#state, () => []);
  }

  async #answer(request: GenerationRequest, stream: GenerationStream, signal: AbortSignal): Promise<void> {
    try {
      const { adapter } = request.prompt;
      if (adapter !== null) await this.prepareAdapter(adapter);
      const named = adapter && { ...adapter, id: nameOf(adapter) };
      const body = JSON.stringify({ ...request, prompt: { ...request.prompt, adapter: named } });
      const answer = await fetch(`${this.#url}/generate`, { method: "POST", body, signal });
      for await (const line of linesOf(answer)) {
        if ("failure" in line) throw toServiceError(line.failure);
        for (const event of line.events) stream.push(restoreNaN(event));
      }
    } catch (error) {
      // If the generation has already ended, this has no effect.
      stream.fail(error instanceof ServiceError ? error : unavailable("The engine's server is gone."));
    }
  }

  async #post(path: string, body: unknown): Promise<unknown> {
    const answer = await fetch(`${this.#url}${path}`, { method: "POST", body: JSON.stringify(body) });
    const said = (await answer.json()) as Partial<Failure>;
    if (!answer.ok) throw toServiceError(said as Failure);
    return said;
  }
}

async function* linesOf({ body }: Response): AsyncGenerator<Line> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of body ?? []) {
    const lines = (text + decoder.decode(bytes, { stream: true })).split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line) as Line;
  }
}

/**
 * Returns an adapter's name on the server. The name includes the hash of the adapter's files, because the files of an
 * id may change.
 */
function nameOf({ id, hash = "" }: AdapterReference): string {
  return `${id}@${hash}`;
}

/** Replaces null by NaN, which JSON cannot represent. NaN stands for a log-probability that was not requested. */
function restoreNaN(event: GenerationEvent): GenerationEvent {
  if (event.kind !== "tokens") return event;
  const tokens = event.tokens.map((token) => ({
    ...token,
    logprob: (token.logprob as number | null) ?? NaN,
  }));
  return { ...event, tokens };
}

/**
 * A server that forwards requests to an engine. It changes seeds and the last digits of log-probabilities, so that the
 * client's engine is not exact.
 */
class RemoteServer {
  readonly #behind: Engine;
  readonly #server: Server;
  #runningCount = 0;

  constructor(behind: Engine) {
    this.#behind = behind;
    this.#server = createServer((request, response) => {
      void this.#route(request, response).catch((error: unknown) => {
        response.writeHead(400).end(JSON.stringify(failureOf(error, "broken")));
      });
    });
  }

  async start(): Promise<string> {
    await this.#behind.start();
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    // Safe cast: the server listens on TCP.
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    await this.#behind.stop();
    this.#server.closeAllConnections();
    if (!this.#server.listening) return;
    this.#server.close();
    await once(this.#server, "close");
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Safe cast: only the engine in this file sends requests.
    const body = (await json(request)) as never;
    switch (request.url) {
      case "/generate":
        return this.#generate(body, response);
      case "/v1/load_lora_adapter":
        await this.#behind.prepareAdapter(body);
        break;
      case "/v1/unload_lora_adapter":
        this.#behind.dropAdapter((body as AdapterReference).id);
        break;
    }
    const { state } = this.#behind.status();
    response.end(JSON.stringify(state.kind === "ready" ? state.limits : {}));
  }

  async #generate(request: GenerationRequest, response: ServerResponse): Promise<void> {
    const say = (line: Line): void => void response.write(`${JSON.stringify(line)}\n`);
    const others = this.#runningCount++;
    try {
      const generation = this.#behind.submit(varySeed(request, others));
      response.once("close", () => generation.abort());
      for await (const batch of generation.events) say({ events: batch.map(perturb) });
    } catch (error) {
      say({ failure: failureOf(error, "broken") });
    } finally {
      this.#runningCount -= 1;
      response.end();
    }
  }
}

/** Changes the seed of a request, depending on its number of choices and on other running requests. */
function varySeed(request: GenerationRequest, others: number): GenerationRequest {
  const { sampling, choices } = request;
  const count = choices.kind === "sample" ? choices.count : 0;
  return { ...request, sampling: { ...sampling, seed: sampling.seed * 131 + count + 17 * others } };
}

/** Changes the last digits of log-probabilities, so that no caller relies on them. */
function perturb(event: GenerationEvent): GenerationEvent {
  if (event.kind !== "tokens") return event;
  const by = (Math.random() - 0.5) * 1e-6;
  const shake = <Token extends { readonly logprob: number }>(token: Token): Token => ({
    ...token,
    logprob: token.logprob + by,
  });
  const tokens = event.tokens.map((token): GeneratedToken => {
    return { ...shake(token), alternatives: token.alternatives.map(shake) };
  });
  return { ...event, tokens };
}
