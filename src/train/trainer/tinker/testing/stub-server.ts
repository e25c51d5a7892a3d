// A small Tinker API server for tests. It can answer like each kind of server, and a local trainer computes the
// results. Saved states are stored outside the server, so that they survive its restart.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { systemClock } from "../../../../base/domain/clock.ts";
import type { ServerKindName } from "../server-kinds.ts";
import { StubOperations, type StubOptions } from "./stub-operations.ts";
import { type StubAnswer, StubRefusal } from "./stub-answers.ts";

/** A fault that a test injects into a request. */
export type Fault =
  /** The server sends this answer without processing the request. */
  | { readonly kind: "answer"; readonly status: number; readonly body: string; readonly contentType?: string }
  /** The server closes the connection without an answer, before or after it processes the request. */
  | { readonly kind: "cut"; readonly when: "before" | "after" }
  /**
   * The server restarts before or after it processes the request. It loses models and results, but not saved states.
   */
  | { readonly kind: "restart"; readonly when: "before" | "after" }
  /** The server does not answer, and restarts after this time in milliseconds. */
  | { readonly kind: "hang"; readonly forMs: number };

export class StubServer {
  /** Requests so far, each as its method and its path below `/api/v1`. */
  readonly requests: string[] = [];
  /** API keys that the requests so far contained. */
  readonly keys: (string | undefined)[] = [];
  /** Called before each request. Returns the fault to inject, or null for none. */
  fault: (request: string, index: number) => Fault | null = () => null;
  readonly #operations: StubOperations;
  readonly #kind: ServerKindName;
  readonly #http: Server;
  /** A second server at another address. Some kinds of servers redirect clients to it for archives. */
  readonly #elsewhere: Server;
  /** API keys that the requests to the second server contained. */
  readonly keysElsewhere: (string | undefined)[] = [];

  constructor(options: StubOptions) {
    this.#kind = options.kind;
    this.#operations = new StubOperations(options);
    this.#http = createServer((request, response) => void this.#answer(request, response));
    this.#elsewhere = createServer((request, response) => {
      this.keysElsewhere.push(keyOf(request));
      response.end(this.#operations.archive((request.url ?? "").slice(1)));
    });
  }

  /** Starts the server and returns its URL. */
  async start(): Promise<string> {
    for (const server of [this.#http, this.#elsewhere])
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return addressOf(this.#http);
  }

  async stop(): Promise<void> {
    for (const server of [this.#http, this.#elsewhere]) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  }

  /** Names of the saved states and adapters, as `<model>/<type>/<name>`. */
  get kept(): readonly string[] {
    return this.#operations.kept;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? "").replace("/api/v1/", "");
    const named = `${request.method} ${path}`;
    const fault = this.fault(named, this.requests.length);
    this.requests.push(named);
    this.keys.push(keyOf(request));
    const body = await buffer(request);
    if (fault?.kind === "answer") {
      const { status, contentType = "application/json" } = fault;
      response.writeHead(status, { "content-type": contentType }).end(fault.body);
      return;
    }
    if (fault?.kind === "hang") {
      await systemClock.sleep(fault.forMs);
      return this.#end(response, { kind: "restart", when: "before" });
    }
    if (fault?.when === "before") return this.#end(response, fault);
    const answer = await this.#operations
      .answer({ method: request.method ?? "", path, body, key: keyOf(request), headers: request.headers })
      .catch((error: unknown): StubAnswer => {
        if (error instanceof StubRefusal) return error.answer(this.#kind);
        return { status: 500, json: { detail: String(error) } };
      });
    if (fault?.when === "after") return this.#end(response, fault);
    const {
      status,
      json,
      bytes = Buffer.from(JSON.stringify(json)),
      contentType = "application/json",
    } = answer;
    const location = answer.archive === undefined ? undefined : this.#locationOf(answer.archive);
    response.writeHead(status, { "content-type": contentType, ...(location && { location }) }).end(bytes);
  }

  #end(response: ServerResponse, { kind }: Fault): void {
    if (kind === "restart") this.#operations.restart();
    response.destroy();
  }

  #locationOf(archive: string): string {
    if (this.#kind === "tinker") return `${addressOf(this.#elsewhere)}/${archive}`;
    return `${addressOf(this.#http)}/api/v1/download/${archive}`;
  }
}

function keyOf({ headers }: IncomingMessage): string | undefined {
  const key = headers["x-api-key"];
  return Array.isArray(key) ? key[0] : key;
}

function addressOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
