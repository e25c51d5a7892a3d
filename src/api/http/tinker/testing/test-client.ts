// For tests: sends requests as the Python package tinker does, and fetches results until they are there.
import type { LightMyRequestResponse } from "fastify";
import { assert } from "../../../../base/domain/assert.ts";
import { WireMessage } from "../../../../train/trainer/tinker/wire/protobuf.ts";
import { logprobsOfProtobuf } from "../../../../train/trainer/tinker/wire/protobuf-encoding.ts";
import { keys } from "../../testing/fake-server.ts";
import { recorded } from "./recorded-bodies.ts";

type Answer = Pick<LightMyRequestResponse, "statusCode" | "headers" | "rawPayload" | "body" | "json">;

interface TinkerRequest {
  readonly method: "GET" | "POST" | "DELETE" | "PUT";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly payload?: object | Buffer;
}

/** A server, or something that sends requests to one. */
export interface TinkerTarget {
  ask(request: TinkerRequest): Promise<Answer>;
}

type Fields = Readonly<Record<string, unknown>> & { readonly metrics?: Readonly<Record<string, number>> };

const protobufType = "application/x-protobuf";

export class TinkerTestClient {
  readonly session: string;
  readonly #server: TinkerTarget;
  readonly #key: string;

  constructor(server: TinkerTarget, key: string, session: string) {
    this.#server = server;
    this.#key = key;
    this.session = session;
  }

  static async open(server: TinkerTarget, key: string = keys.member): Promise<TinkerTestClient> {
    const { session_id: session } = await new TinkerTestClient(server, key, "").json(
      "POST",
      "/api/v1/create_session",
      recorded.createSession,
    );
    return new TinkerTestClient(server, key, String(session));
  }

  /** Sends a request. The key has the prefix that the package requires. */
  ask(
    method: TinkerRequest["method"],
    url: string,
    body: object | Buffer | null,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    return this.#server.ask({
      method,
      url,
      headers: { "x-api-key": `tml-${this.#key}`, ...headers },
      ...(body === null ? {} : { payload: body }),
    });
  }

  async json(method: "GET" | "POST" | "DELETE" | "PUT", url: string, body: object | null): Promise<Fields> {
    const answer = await this.ask(method, url, body);
    assert(answer.statusCode === 200, `${url} is answered ${answer.statusCode}: ${answer.body}`);
    return answer.json<Fields>();
  }

  async createModel(seq = 0): Promise<string> {
    const created = await this.result("create_model", recorded.createModel(this.session, seq));
    return String(created["model_id"]);
  }

  /** Submits an operation, and returns its result. */
  async result(operation: string, body: object): Promise<Fields> {
    const { request_id: id } = await this.json("POST", `/api/v1/${operation}`, body);
    return (await this.#retrieve(String(id), {})).json<Fields>();
  }

  /** Submits an operation, and returns its result as a protocol buffer. */
  async bytes(operation: string, body: object): Promise<Buffer> {
    const { request_id: id } = await this.json("POST", `/api/v1/${operation}`, body);
    return (await this.#retrieve(String(id), { accept: protobufType })).rawPayload;
  }

  /** Submits data to compute, and returns the id of the operation. */
  async submitData(body: Buffer): Promise<string> {
    const answer = await this.ask("POST", "/api/v1/forward_backward", body, { "content-type": protobufType });
    assert(answer.statusCode === 200, `the data is answered ${answer.statusCode}: ${answer.body}`);
    return answer.json<{ request_id: string }>().request_id;
  }

  async compute(body: Buffer): Promise<{ logprobs: number[]; metrics: Record<string, number> }> {
    const answer = await this.#retrieve(await this.submitData(body), { accept: protobufType });
    const message = new WireMessage(answer.rawPayload);
    const metrics = message.all(3).map((bytes) => {
      const entry = new WireMessage(bytes);
      return [entry.text(1), entry.number(2)] as const;
    });
    const [logprobs] = logprobsOfProtobuf(answer.rawPayload);
    return { logprobs: [...logprobs], metrics: Object.fromEntries(metrics) };
  }

  async #retrieve(id: string, headers: Readonly<Record<string, string>>): Promise<Answer> {
    for (;;) {
      const answer = await this.ask("POST", "/api/v1/retrieve_future", { request_id: id }, headers);
      if (answer.statusCode !== 408) return answer;
    }
  }
}
