// HTTP requests to one server with one key: timeouts, errors, and retries where safe. Independent of routes.
import { Deadline } from "./deadline.ts";
import { answeredError, HoneError } from "./hone-error.ts";
import { webPlatform, type Platform } from "./platform.ts";
import { refuseUnknown } from "./unknown-options.ts";
import { UploadBody, type Upload } from "./upload.ts";

export interface ConnectionOptions {
  /**
   * Base URL of the server; default: HONE_BASE_URL, or `http://127.0.0.1:8000`. A `/v1` or slash at the end is
   * removed.
   */
  readonly baseUrl?: string | undefined;
  /** Alias of `baseUrl`, as OpenAI's client spells it. */
  readonly baseURL?: string | undefined;
  /** API key; default: HONE_API_KEY. If null, requests have no credentials. */
  readonly apiKey?: string | null | undefined;
  /**
   * Maximum time in milliseconds during which the server sends nothing, before or within its answer; default 600,000.
   */
  readonly timeout?: number | undefined;
  /** Maximum number of retries of a request that is safe to repeat; default 2. */
  readonly retries?: number | undefined;
  /** Headers added to every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Function used instead of the platform's `fetch`. */
  readonly fetch?: ((url: string, request: RequestInit) => Promise<Response>) | undefined;
}

/** Options of any call. */
export interface RequestOptions {
  /** Aborts the call, which then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  readonly timeout?: number | undefined;
  readonly retries?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Query values. A list becomes a repeated field, an object becomes one field per member. */
export type Query = Readonly<
  Record<
    string,
    string | number | boolean | readonly string[] | Readonly<Record<string, string>> | null | undefined
  >
>;

export interface Request extends RequestOptions {
  readonly method: string;
  /** Path from the server's root. */
  readonly path: string;
  readonly query?: Query | undefined;
  readonly body?: unknown;
  readonly form?: FormData | undefined;
  /** A body that is not JSON. */
  readonly upload?: { readonly type: string; readonly content: Upload } | undefined;
  readonly accept?: string;
  /** How the key is sent: as a bearer token, or, for routes that follow Weave's API, as a password. */
  readonly scheme?: "bearer" | "basic";
  /** True if sending the request twice has the same effect as sending it once. */
  readonly isRepeatable: boolean;
}

/** A response whose headers have arrived. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /**
   * Yields the body as it arrives; leaving the loop closes the connection.
   *
   * @throws HoneError if the connection is lost
   */
  bytes(): AsyncGenerator<Uint8Array>;
  /**
   * Returns the whole body.
   *
   * @throws HoneError if the connection is lost
   */
  text(): Promise<string>;
}

const defaultTimeoutMs = 600_000;
const defaultRetries = 2;
const firstRetryMs = 500;
const retryMsMax = 8000;
/** Maximum Retry-After in seconds. If the server asks for a longer wait, the call fails. */
const retryAfterSecondsMax = 60;

export class Connection {
  /** Base URL without `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string | null;
  readonly platform: Platform;
  readonly #options: ConnectionOptions;
  /** Function that sends requests. */
  readonly fetch: (url: string, request: RequestInit) => Promise<Response>;

  /** @throws HoneError `invalid` for an invalid base URL or an unknown option */
  constructor(options: ConnectionOptions = {}, platform: Platform = webPlatform) {
    refuseUnknown(options, optionNames, "Hone");
    this.#options = options;
    this.platform = platform;
    // HONE_URL is the variable of the command line.
    const variable = platform.environment("HONE_BASE_URL") ?? platform.environment("HONE_URL");
    const given = givenUrl(options) ?? variable ?? "http://127.0.0.1:8000";
    this.baseUrl = given.replace(/\/+$/, "").replace(/\/v1$/, "");
    if (!URL.canParse(this.baseUrl) || !/^https?:$/.test(new URL(this.baseUrl).protocol)) {
      const message = `${JSON.stringify(given)} is not a server address, such as http://127.0.0.1:8000.`;
      throw new HoneError({ code: "invalid", param: "baseUrl", message });
    }
    const { apiKey = platform.environment("HONE_API_KEY") ?? null } = options;
    this.apiKey = apiKey;
    // On some platforms, `fetch` must not be called as a method.
    this.fetch = options.fetch ?? ((url, request) => fetch(url, request));
  }

  /**
   * Sends a request, and retries it if that is safe, until it succeeds.
   *
   * @throws HoneError for an unsuccessful answer, or if no server answers; the signal's reason if it aborts
   */
  async open(request: Request): Promise<Answer> {
    const retries = request.retries ?? this.#options.retries ?? defaultRetries;
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#send(request);
      } catch (error) {
        if (!(error instanceof HoneError) || attempt >= retries) throw error;
        const waitMs = this.#waitMs(error, request, attempt);
        if (waitMs === null) throw error;
        await this.platform.sleep(waitMs, request.signal);
      }
    }
  }

  /** Returns the wait before the next attempt in milliseconds; null if a retry is unsafe or would not help. */
  #waitMs(error: HoneError, { isRepeatable, form, upload }: Request, attempt: number): number | null {
    const { code, status, retryAfterSeconds } = error;
    // The first attempt has consumed a body that is a stream.
    if (upload !== undefined && !(upload.content instanceof Blob)) return null;
    // A server that answers 429 has not started the request, so a retry is safe.
    const isRefused = status === 429;
    const mayPass = code === "connection" || status >= 500;
    if (!isRefused && !(isRepeatable && mayPass && form === undefined)) return null;
    if (retryAfterSeconds !== null)
      return retryAfterSeconds > retryAfterSecondsMax ? null : retryAfterSeconds * 1000;
    // Random jitter spreads the retries of requests that were refused at the same time.
    return Math.min(retryMsMax, firstRetryMs * 2 ** attempt) * (0.75 + 0.5 * this.platform.uniform());
  }

  async #send(request: Request): Promise<Answer> {
    const deadline = new Deadline(
      request.timeout ?? this.#options.timeout ?? defaultTimeoutMs,
      request.signal,
    );
    const upload = request.upload === undefined ? null : new UploadBody(request.upload.content);
    try {
      const sent = this.fetch(this.#urlOf(request), {
        method: request.method,
        headers: this.#headersOf(request),
        signal: deadline.signal,
        ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
        ...(request.form === undefined ? {} : { body: request.form }),
        // Some platforms require `duplex` if the body is a stream.
        ...(upload === null ? {} : { body: upload.content, duplex: "half" }),
      });
      const response = await deadline.while(sent);
      const answer = new OpenAnswer(response, deadline, this.baseUrl);
      if (response.ok) return answer;
      throw answeredError(response, await answer.text());
    } catch (error) {
      upload?.close();
      if (error instanceof HoneError) throw error;
      throw noAnswer(error, deadline, this.baseUrl);
    }
  }

  #urlOf({ path, query = {} }: Request): string {
    const url = new URL(this.baseUrl + path);
    for (const [name, value] of Object.entries(query)) {
      if (value === null || value === undefined) continue;
      if (Array.isArray(value))
        for (const each of value as readonly string[]) url.searchParams.append(name, each);
      else if (typeof value === "object")
        for (const [member, text] of Object.entries(value))
          url.searchParams.append(`${name}[${member}]`, text);
      else url.searchParams.append(name, String(value));
    }
    return url.href;
  }

  #headersOf({
    accept = "application/json",
    body,
    upload,
    scheme = "bearer",
    headers,
  }: Request): Record<string, string> {
    const type = body === undefined ? upload?.type : "application/json";
    return {
      accept,
      ...(type === undefined ? {} : { "content-type": type }),
      ...(this.apiKey === null ? {} : { authorization: credentials[scheme](this.apiKey) }),
      ...this.#options.headers,
      ...headers,
    };
  }
}

const optionNames: readonly (keyof ConnectionOptions)[] = [
  "baseUrl",
  "baseURL",
  "apiKey",
  "timeout",
  "retries",
  "headers",
  "fetch",
];

function givenUrl({ baseUrl, baseURL }: ConnectionOptions): string | undefined {
  if (baseUrl === undefined || baseURL === undefined || baseUrl === baseURL) return baseUrl ?? baseURL;
  const message = `baseUrl is ${JSON.stringify(baseUrl)} and baseURL is ${JSON.stringify(baseURL)}; give only one of them.`;
  throw new HoneError({ code: "invalid", param: "baseURL", message });
}

const credentials = {
  bearer: (key: string) => `Bearer ${key}`,
  basic: (key: string) => `Basic ${btoa(`api:${key}`)}`,
};

class OpenAnswer implements Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly #body: ReadableStream<Uint8Array> | null;
  readonly #deadline: Deadline;
  readonly #baseUrl: string;

  constructor({ status, headers, body }: Response, deadline: Deadline, baseUrl: string) {
    this.status = status;
    this.headers = headers;
    this.#body = body;
    this.#deadline = deadline;
    this.#baseUrl = baseUrl;
  }

  async *bytes(): AsyncGenerator<Uint8Array> {
    if (this.#body === null) return;
    // On some platforms, a stream is not iterable.
    const reader = this.#body.getReader();
    let isOver = false;
    try {
      for (;;) {
        const { done, value } = await this.#deadline.while(reader.read());
        isOver = done;
        if (value === undefined) return;
        yield value;
      }
    } catch (error) {
      isOver = true;
      throw noAnswer(error, this.#deadline, this.#baseUrl);
    } finally {
      if (!isOver) await reader.cancel().catch(() => undefined);
    }
  }

  async text(): Promise<string> {
    const decoder = new TextDecoder();
    let text = "";
    for await (const piece of this.bytes()) text += decoder.decode(piece, { stream: true });
    return text + decoder.decode();
  }
}

/**
 * Returns an error that names the server and says why there is no answer.
 *
 * @throws the signal's reason if the caller aborted
 */
function noAnswer(error: unknown, deadline: Deadline, baseUrl: string): HoneError {
  deadline.throwIfGivenUp();
  if (deadline.isOver) {
    const message = `${baseUrl} was silent for ${deadline.timeoutMs / 1000} s; it may be busy, or need a longer timeout.`;
    return new HoneError({ code: "timeout", message, cause: error });
  }
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const reason = cause instanceof Error ? cause.message || cause.name : String(cause);
  const message = `No answer from ${baseUrl} (${reason}). Is the server running there? HONE_BASE_URL sets another address.`;
  return new HoneError({ code: "connection", message, cause: error });
}
