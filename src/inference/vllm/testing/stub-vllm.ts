// A stub of a vLLM server for tests, with the answers and refusals of vLLM 0.32. Any engine can compute for it.
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import type { Engine } from "../../../base/domain/generation.ts";
import type { PassedParameters } from "../../../base/domain/prompt-transfer.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { Latencies } from "./recorded-latencies.ts";
import { answerCompletion, refusalOf, type SentCompletion, StubRefusal } from "./stub-completions.ts";

export interface StubVllmOptions {
  /** The engine that computes, which is started and stopped together with the server. */
  readonly behind: Engine;
  readonly version?: string;
  readonly contextLength: number;
  readonly vocabularySize: number;
  readonly endTokenId: number;
  /** Value of vLLM's option `--max-logprobs`. */
  readonly logprobCountMax: number;
  /** Value of vLLM's option `--enable-prompt-tokens-details`. */
  readonly promptTokensDetails?: boolean;
  /** Parameters that the connector (`--kv-transfer-config`) returns for a held prompt. */
  readonly heldAs?: PassedParameters;
  /** Value of vLLM's option `--api-key`. */
  readonly key?: string;
  /** Name under which the server serves the model. */
  readonly model?: string;
  /** Times that the server waits before each token; none by default. */
  readonly latencies?: Latencies;
  /** Called with each request in the order of arrival. */
  readonly onAsked?: (path: string, body: unknown) => void;
}

/** Behaviour of a failing server. Returns true if it has handled the request; false lets the server answer normally. */
export type StubFault = (path: string, request: IncomingMessage, response: ServerResponse) => boolean;

export class StubVllm {
  /** All requests with their paths, in the order of arrival. */
  readonly asked: { readonly path: string; readonly body: unknown }[] = [];
  /** The server's current fault. If it returns true, it has handled the request in place of the server. */
  fault: StubFault = () => false;
  readonly #options: StubVllmOptions;
  readonly #server: Server;
  /** Folders of the loaded adapters, by the adapters' names. */
  readonly #adapters = new Map<string, string>();
  #runningCount = 0;

  constructor(options: StubVllmOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => {
      void this.#route(request, response).catch((error: unknown) => {
        const { status, body } = refusalOf(error);
        if (response.headersSent) response.destroy();
        else response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
      });
    });
  }

  get url(): string {
    // Safe cast: the server listens on TCP.
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get runningCount(): number {
    return this.#runningCount;
  }

  get adapters(): readonly string[] {
    return [...this.#adapters.keys()];
  }

  async start(): Promise<string> {
    await this.#options.behind.start();
    if (!this.#server.listening) {
      this.#server.listen(0, "127.0.0.1");
      await once(this.#server, "listening");
    }
    return this.url;
  }

  /** Loads an adapter as the server's operator would, under a name that the operator chooses. */
  async loadOwn(name: string, folder: string): Promise<void> {
    await this.#load({ lora_name: name, lora_path: folder });
  }

  /** Breaks off all running answers, as if the server died. */
  breakOff(): void {
    this.#server.closeAllConnections();
  }

  /** Unloads all adapters, as if the server was restarted. */
  forget(): void {
    for (const name of this.#adapters.keys()) this.#options.behind.dropAdapter(name);
    this.#adapters.clear();
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    if (this.#server.listening) {
      this.#server.close();
      await once(this.#server, "close");
    }
    await this.#options.behind.stop();
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? "";
    const { key, version = "0.32.0+cpu" } = this.#options;
    const body: unknown = request.method === "POST" ? await json(request) : null;
    this.asked.push({ path, body });
    this.#options.onAsked?.(path, body);
    if (this.fault(path, request, response)) return;
    if (key !== undefined && path.startsWith("/v1/") && request.headers.authorization !== `Bearer ${key}`) {
      response.writeHead(401).end(JSON.stringify({ error: "Unauthorized" }));
      return;
    }
    const answer = (value: unknown): void =>
      void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
    switch (path) {
      case "/health":
        return void response.writeHead(200).end();
      case "/version":
        return answer({ version });
      case "/v1/models":
        return answer(this.#listed());
      case "/v1/load_lora_adapter":
        return void response.end(await this.#load(body as Record<string, string>));
      case "/v1/unload_lora_adapter":
        return void response.end(this.#unload(body as Record<string, string>));
      case "/v1/completions":
        return await this.#complete(body as SentCompletion, response);
      default:
        response.writeHead(404).end(JSON.stringify({ detail: "Not Found" }));
    }
  }

  get #model(): string {
    return this.#options.model ?? "tiny";
  }

  #listed(): unknown {
    const card = { object: "model", created: 1, owned_by: "vllm", permission: [] };
    const base = { ...card, id: this.#model, root: "/models/tiny", parent: null };
    const adapters = [...this.#adapters].map(([id, root]) => ({
      ...card,
      id,
      root,
      parent: this.#model,
      max_model_len: null,
    }));
    return { object: "list", data: [{ ...base, max_model_len: this.#options.contextLength }, ...adapters] };
  }

  async #load({ lora_name: name = "", lora_path: folder = "" }: Record<string, string>): Promise<string> {
    if (this.#adapters.has(name))
      throw new StubRefusal(
        400,
        "InvalidUserInput",
        `The lora adapter '${name}' has already been loaded. If you want to load the adapter in place, set 'load_inplace' to True.`,
      );
    try {
      await this.#options.behind.prepareAdapter({ id: name, folder });
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      throw new StubRefusal(
        404,
        "NotFoundError",
        `Loading lora ${name} failed: No adapter found for ${folder}`,
      );
    }
    this.#adapters.set(name, folder);
    return `Success: LoRA adapter '${name}' added successfully.`;
  }

  #unload({ lora_name: name = "" }: Record<string, string>): string {
    if (!this.#adapters.delete(name))
      throw new StubRefusal(404, "NotFoundError", `The lora adapter '${name}' cannot be found.`);
    this.#options.behind.dropAdapter(name);
    return `Success: LoRA adapter '${name}' removed successfully.`;
  }

  async #complete(body: SentCompletion, response: ServerResponse): Promise<void> {
    const folder = this.#adapters.get(body.model);
    if (folder === undefined && body.model !== this.#model)
      throw new StubRefusal(404, "NotFoundError", `The model \`${body.model}\` does not exist.`, "model");
    this.#runningCount += 1;
    try {
      const adapter = folder === undefined ? null : { id: body.model, folder };
      const { promptTokensDetails = false, heldAs = null } = this.#options;
      const model = { ...this.#options, promptTokensDetails, heldAs, adapter, model: this.#model };
      await answerCompletion(body, model, response);
    } finally {
      this.#runningCount -= 1;
    }
  }
}
