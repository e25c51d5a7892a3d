// Calls any operation of the API by its method and path. Types are generated from the API's OpenAPI document (`api`),
// so an unknown route, a wrong body or a wrong use of the answer fails to compile.
import type { Operations, Page } from "../api.ts";
import type { Answer, Connection, Query, Request, RequestOptions } from "../connection.ts";
import { HoneError, streamedError } from "../hone-error.ts";
import { Pages } from "../pages.ts";
import type { Platform } from "../platform.ts";
import { readServerSentEvents } from "../server-sent-events.ts";

/** A method and a path, as in the API document. */
export type Route = keyof Operations;

/** Routes with a given kind of body or answer. */
export type RouteWith<Form extends string> = {
  [R in Route]: Operations[R] extends Readonly<Record<Form, unknown>> ? R : never;
}[Route];

export type AnswerOf<R extends RouteWith<"answer">> = Operations[R]["answer"];
export type EventOf<R extends RouteWith<"events">> = Operations[R]["events"];
export type BodyOf<R extends Route> = Operations[R] extends { readonly body?: infer B }
  ? NonNullable<B>
  : never;
export type QueryOf<R extends Route> = Operations[R] extends { readonly query?: infer Q }
  ? NonNullable<Q>
  : never;

/** Routes that return a page of a list. */
export type PagedRoute = {
  [R in RouteWith<"answer">]: AnswerOf<R> extends Page<unknown> ? R : never;
}[RouteWith<"answer">];
export type ItemOf<R extends PagedRoute> = AnswerOf<R>["data"][number];

/** Path, query and body of a route. */
export type InputOf<R extends Route> = Pick<
  Operations[R],
  Extract<keyof Operations[R], "path" | "query" | "body">
>;

export interface CallOptions extends RequestOptions, Pick<Request, "form" | "upload" | "accept"> {
  /** For a POST route: true if it is safe to send the request twice. For other methods, it is always safe. */
  readonly isRepeatable?: boolean;
  /** For answers as bytes: called with the answer's size if the server gives it. */
  readonly onByteCount?: ((byteCount: number) => void) | undefined;
  /** For streams: called once the server has begun to answer. */
  readonly onOpen?: (() => void) | undefined;
}

/**
 * Routes that take the key as a bearer token. Other routes, for feedback and traces, take the key as the password of
 * basic authentication.
 */
const bearerPath = /^\/(v1|api\/(?!public\/)|tokenize|detokenize|health|ping|version|load|metrics)\b/;

/** Typed calls of every operation. Groups such as `hone.jobs` are built on it. */
export class Calls {
  readonly platform: Platform;
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.platform = connection.platform;
    this.#connection = connection;
  }

  /**
   * Returns the parsed answer.
   *
   * @throws HoneError, with code `not_json` if the answer is not JSON because it came from another program
   */
  async call<R extends RouteWith<"answer">>(
    route: R,
    input: InputOf<R>,
    options?: CallOptions,
  ): Promise<AnswerOf<R>> {
    const text = await (await this.#open(route, input, options)).text();
    // Safe cast: the API document gives this type, and the client trusts its server.
    return this.#parsed(route, text) as AnswerOf<R>;
  }

  /**
   * Yields a stream's events as they arrive.
   *
   * @throws HoneError if the request or the stream fails
   */
  async *events<R extends RouteWith<"events">>(
    route: R,
    input: InputOf<R>,
    options: CallOptions = {},
  ): AsyncGenerator<EventOf<R>> {
    const answer = await this.#open(route, input, { accept: "text/event-stream", ...options });
    options.onOpen?.();
    for await (const data of readServerSentEvents(answer.bytes())) {
      if (data === "[DONE]") return;
      const event = this.#parsed(route, data);
      const error = streamedError(event, answer);
      if (error !== null) throw error;
      // Safe cast: the API document gives this type, as for other answers.
      yield event as EventOf<R>;
    }
  }

  /** Yields the answer's bytes as they arrive. */
  async bytes<R extends RouteWith<"bytes">>(
    route: R,
    input: InputOf<R>,
    options?: CallOptions,
  ): Promise<AsyncGenerator<Uint8Array>> {
    const answer = await this.#open(route, input, { accept: "*/*", ...options });
    const length = answer.headers.get("content-length");
    if (length !== null) options?.onByteCount?.(Number(length));
    return answer.bytes();
  }

  async text<R extends RouteWith<"text">>(
    route: R,
    input: InputOf<R>,
    options?: CallOptions,
  ): Promise<string> {
    return (await this.#open(route, input, { accept: "text/plain", ...options })).text();
  }

  /** Returns a paged list. Pages have the maximum size unless the query sets `limit`. */
  pages<R extends PagedRoute>(
    route: R,
    input: InputOf<R>,
    options?: CallOptions,
  ): Pages<ItemOf<R>, AnswerOf<R>> {
    const { query } = input as Untyped;
    return new Pages<ItemOf<R>, AnswerOf<R>>((after) => {
      const behind = after === undefined ? {} : { after };
      return this.call(route, { ...input, query: { limit: 100, ...query, ...behind } }, options);
    });
  }

  #parsed(route: Route, text: string): unknown {
    try {
      return JSON.parse(text);
    } catch (cause) {
      const message = `${this.#connection.baseUrl} answered ${route} with text that is not JSON: ${text.slice(0, 200)}`;
      throw new HoneError({ code: "not_json", message, body: text, cause });
    }
  }

  #open<R extends Route>(route: R, input: InputOf<R>, options: CallOptions = {}): Promise<Answer> {
    const [method = "", pattern = ""] = route.split(" ");
    const { path = {}, query, body } = input as Untyped;
    const filled = pattern.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(path[name] ?? ""),
    );
    const isRepeatable = options.isRepeatable ?? method !== "POST";
    const scheme = bearerPath.test(pattern) ? "bearer" : "basic";
    return this.#connection.open({ ...options, scheme, method, path: filled, query, body, isRepeatable });
  }
}

/** Input of a route, without the route's types. */
interface Untyped {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Query;
  readonly body?: unknown;
}
