// HTTP calls with the product's credentials and errors. Retries nothing: only the caller knows whether it is safe.

/** What the server answered instead of success. */
export class HoneApiError extends Error {
  /** 0 where nobody answered. */
  readonly status: number;
  readonly requestId: string | null;
  readonly body: unknown;

  constructor(options: {
    readonly status: number;
    readonly message: string;
    readonly requestId: string | null;
    readonly body: unknown;
  }) {
    super(options.message);
    this.name = "HoneApiError";
    this.status = options.status;
    this.requestId = options.requestId;
    this.body = options.body;
  }
}

export interface TransportOptions {
  /** Such as `http://127.0.0.1:8000`; a trailing `/v1` or slash is taken off. */
  readonly baseUrl: string;
  /** Null sends no credentials. */
  readonly apiKey: string | null;
  /** Longest wait for an answer to begin, in milliseconds. */
  readonly timeoutMs?: number;
}

export interface CallOptions {
  readonly body?: unknown;
  /** A form; files in it are sent as they are read. */
  readonly form?: FormData;
  /** A body that is no JSON, sent as it comes. */
  readonly upload?: { readonly type: string; readonly pieces: AsyncIterable<Uint8Array> };
  /** A list is a field that comes several times. */
  readonly query?: Readonly<Record<string, string | number | readonly string[] | null | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface Transport {
  /** The parsed JSON answer. The caller names the shape that the route documents. */
  json<T>(method: string, path: string, options?: CallOptions): Promise<T>;
  /** The answer as it comes, for streams. */
  open(method: string, path: string, options?: CallOptions): Promise<Response>;
}

function notAnAddress(baseUrl: string): HoneApiError {
  const message = `${JSON.stringify(baseUrl)} is no address of a server; it looks like http://127.0.0.1:8000.`;
  return new HoneApiError({ status: 0, message, requestId: null, body: null });
}

/** @throws HoneApiError with status 0 for a base URL that is none of a server */
export function createTransport(options: TransportOptions): Transport {
  const base = options.baseUrl.replace(/\/+$/, "").replace(/\/v1$/, "");
  if (!URL.canParse(base) || !/^https?:$/.test(new URL(base).protocol)) throw notAnAddress(options.baseUrl);
  const timeoutMs = options.timeoutMs ?? 600_000;

  const open: Transport["open"] = async (method, path, call = {}) => {
    const url = new URL(base + path);
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (value === null || value === undefined) continue;
      for (const each of Array.isArray(value) ? (value as readonly string[]) : [value])
        url.searchParams.append(name, String(each));
    }
    // Until the answer begins: it may then take as long as it needs.
    const late = new AbortController();
    const timer = setTimeout(
      () => late.abort(new DOMException("it took too long", "TimeoutError")),
      timeoutMs,
    );
    const upload = call.upload === undefined ? null : new Upload(call.upload.pieces);
    const response = await fetch(url, {
      method,
      headers: {
        accept: "application/json",
        ...(call.body === undefined ? {} : { "content-type": "application/json" }),
        ...(call.upload === undefined ? {} : { "content-type": call.upload.type }),
        ...(options.apiKey === null ? {} : { authorization: `Bearer ${options.apiKey}` }),
        ...call.headers,
      },
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
      ...(call.form === undefined ? {} : { body: call.form }),
      ...(upload === null ? {} : { body: upload.stream, duplex: "half" as const }),
      signal: call.signal === undefined ? late.signal : AbortSignal.any([late.signal, call.signal]),
    })
      .catch((error: unknown) => {
        upload?.close();
        throw call.signal?.aborted === true ? error : noAnswer(base, error);
      })
      .finally(() => clearTimeout(timer));
    if (response.ok) return response;
    upload?.close();
    throw await apiError(response);
  };

  return {
    open,
    // The shape is what the route documents; this client trusts its own server.
    json: async <T>(method: string, path: string, call?: CallOptions) =>
      (await (await open(method, path, call)).json()) as T,
  };
}

/** What is sent as it is made, and never in memory as a whole. */
class Upload {
  readonly stream: ReadableStream<Uint8Array>;
  readonly #pieces: AsyncIterator<Uint8Array>;

  constructor(pieces: AsyncIterable<Uint8Array>) {
    this.#pieces = pieces[Symbol.asyncIterator]();
    this.stream = new ReadableStream({
      pull: async (controller) => {
        const next = await this.#pieces.next();
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      },
      cancel: () => this.close(),
    });
  }

  /** Ends what makes the pieces: a connection that cannot be made has begun them, and does not cancel the stream. */
  close(): void {
    this.#pieces.return?.().catch(() => undefined);
  }
}

/** What a caller can do something with: who did not answer, and why. */
function noAnswer(base: string, error: unknown): HoneApiError {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const reason = cause instanceof Error ? cause.message || cause.name : String(cause);
  return new HoneApiError({
    status: 0,
    message: `No answer from ${base} (${reason}). Is the server running there?`,
    requestId: null,
    body: null,
  });
}

async function apiError(response: Response): Promise<HoneApiError> {
  const text = await response.text();
  let body: unknown = text;
  let message = text.slice(0, 400) || response.statusText;
  try {
    body = JSON.parse(text);
    const error = (body as { readonly error?: { readonly message?: unknown } }).error;
    if (typeof error?.message === "string") message = error.message;
  } catch {
    // Not JSON: somebody else answered, and its text is the best message there is.
  }
  return new HoneApiError({
    status: response.status,
    message: `${response.status}: ${message}`,
    requestId: response.headers.get("x-request-id"),
    body,
  });
}
