// HTTP calls to one server with one key: deadlines, errors, and the repeats that are safe. Knows no routes.
import { Deadline } from "./deadline.ts";
import { answeredError, HoneError } from "./hone-error.ts";
import { webPlatform, type Platform } from "./platform.ts";
import { refuseUnknown } from "./unknown-options.ts";
import { UploadBody, type Upload } from "./upload.ts";

export interface ConnectionOptions {
  /**
   * Such as `http://127.0.0.1:8000`, which it is unless HONE_BASE_URL says otherwise; a trailing `/v1` or slash is taken off.
   */
  readonly baseUrl?: string | undefined;
  /** The same, as OpenAI's client spells it. */
  readonly baseURL?: string | undefined;
  /** HONE_API_KEY unless given; null sends no credentials. */
  readonly apiKey?: string | null | undefined;
  /** Milliseconds that the server may be silent before its answer and within it; 600,000 unless given. */
  readonly timeout?: number | undefined;
  /** How often a call that is safe to repeat is made again; 2 unless given. */
  readonly retries?: number | undefined;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Instead of the platform's own. */
  readonly fetch?: ((url: string, request: RequestInit) => Promise<Response>) | undefined;
}

/** What any call takes beside what it sends. */
export interface RequestOptions {
  /** Gives the call up; it then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  readonly timeout?: number | undefined;
  readonly retries?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The values of a query; a list is a field that comes several times, an object one field for each member. */
export type Query = Readonly<
  Record<
    string,
    string | number | boolean | readonly string[] | Readonly<Record<string, string>> | null | undefined
  >
>;

export interface Request extends RequestOptions {
  readonly method: string;
  /** From the root of the server on. */
  readonly path: string;
  readonly query?: Query | undefined;
  readonly body?: unknown;
  readonly form?: FormData | undefined;
  /** A body that is no JSON. */
  readonly upload?: { readonly type: string; readonly content: Upload } | undefined;
  readonly accept?: string;
  /** Two routes of another maker's interface take a key as a password. */
  readonly scheme?: "bearer" | "basic";
  /** Whether it does the same when it is sent twice. */
  readonly isRepeatable: boolean;
}

/** An answer that has begun. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Its bytes as they come; ends the connection when it is left. @throws HoneError where it breaks off */
  bytes(): AsyncGenerator<Uint8Array>;
  /** All of it. @throws HoneError where it breaks off */
  text(): Promise<string>;
}

const defaultTimeoutMs = 600_000;
const defaultRetries = 2;
const firstRetryMs = 500;
const retryMsMax = 8000;
/** A server that asks for more is not waited for. */
const retryAfterSecondsMax = 60;

export class Connection {
  /** Without `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string | null;
  readonly platform: Platform;
  readonly #options: ConnectionOptions;
  /** What every request goes through. */
  readonly fetch: (url: string, request: RequestInit) => Promise<Response>;

  /** @throws HoneError `invalid` for a base URL that is none of a server, and for an option that does not exist */
  constructor(options: ConnectionOptions = {}, platform: Platform = webPlatform) {
    refuseUnknown(options, optionNames, "Hone");
    this.#options = options;
    this.platform = platform;
    // The command line has the second name.
    const variable = platform.environment("HONE_BASE_URL") ?? platform.environment("HONE_URL");
    const given = givenUrl(options) ?? variable ?? "http://127.0.0.1:8000";
    this.baseUrl = given.replace(/\/+$/, "").replace(/\/v1$/, "");
    if (!URL.canParse(this.baseUrl) || !/^https?:$/.test(new URL(this.baseUrl).protocol)) {
      const message = `${JSON.stringify(given)} is no address of a server; it looks like http://127.0.0.1:8000.`;
      throw new HoneError({ code: "invalid", param: "baseUrl", message });
    }
    const { apiKey = platform.environment("HONE_API_KEY") ?? null } = options;
    this.apiKey = apiKey;
    // The platform's own has to be called as what it is.
    this.fetch = options.fetch ?? ((url, request) => fetch(url, request));
  }

  /**
   * Sends a request until its answer is a success, as often as it is safe and may help.
   *
   * @throws HoneError for any other answer, and where there is none; the signal's reason
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

  /** How long to wait before a request is sent again; null where it must not be, or could not help. */
  #waitMs(error: HoneError, { isRepeatable, form, upload }: Request, attempt: number): number | null {
    const { code, status, retryAfterSeconds } = error;
    // Sent as it was made, it is gone.
    if (upload !== undefined && !(upload.content instanceof Blob)) return null;
    // Whoever answers this has done nothing.
    const isRefused = status === 429;
    const mayPass = code === "connection" || status >= 500;
    if (!isRefused && !(isRepeatable && mayPass && form === undefined)) return null;
    if (retryAfterSeconds !== null)
      return retryAfterSeconds > retryAfterSecondsMax ? null : retryAfterSeconds * 1000;
    // Those who were refused together do not come back together.
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
        // Without the second member a body that comes is refused by some platforms.
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
  const message = `baseUrl is ${JSON.stringify(baseUrl)} and baseURL is ${JSON.stringify(baseURL)}; give one of the two.`;
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
    // Not every platform can iterate over a stream.
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
 * What a caller can do something with: who did not answer, and why.
 *
 * @throws the signal's reason where the caller gave up
 */
function noAnswer(error: unknown, deadline: Deadline, baseUrl: string): HoneError {
  deadline.throwIfGivenUp();
  if (deadline.isOver) {
    const message = `${baseUrl} said nothing for ${deadline.timeoutMs / 1000} s; it may be busy, or need more time (timeout).`;
    return new HoneError({ code: "timeout", message, cause: error });
  }
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const reason = cause instanceof Error ? cause.message || cause.name : String(cause);
  const message = `No answer from ${baseUrl} (${reason}). Is the server running there?`;
  return new HoneError({ code: "connection", message, cause: error });
}
