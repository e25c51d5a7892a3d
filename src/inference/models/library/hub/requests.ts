// Requests to a hub: each with a deadline on silence, tried again where that may help, and refused in words that say what to
// do. Knows nothing of what is asked for.
import { ServiceError } from "../../../../base/domain/service-error.ts";
import { hubLimits, type HubAccess, type HubLimits } from "./access.ts";
import { Interruption } from "./interruption.ts";
import { redirectsMax, redirectTarget } from "./redirects.ts";
import { refusalOf } from "./refusals.ts";

/** An answer and its body, whose parts come within the deadline or throw an {@link Interruption}. */
export interface HubAnswer {
  readonly response: Response;
  readonly body: AsyncGenerator<Uint8Array, void>;
}

/** More than any list or description of a repository takes. */
const answerBytesMax = 64 * 1024 * 1024;

export class HubRequests {
  readonly #access: HubAccess;
  readonly #limits: HubLimits;
  /** That there was an answer: what cannot be reached then is worth another try. */
  #hasAnswered = false;

  constructor(access: HubAccess) {
    this.#access = access;
    this.#limits = { ...hubLimits, ...access.limits };
  }

  /** `fetch` for what is read whole, as the hub's library asks for it; `what` is what it asks of, for messages. */
  fetchWhole(what: string): typeof fetch {
    return (input, init) =>
      this.withRetries(async () => {
        const { response, body } = await this.ask(what, input, init);
        const parts: Uint8Array[] = [];
        let length = 0;
        for await (const part of body) {
          length += part.length;
          if (length > answerBytesMax) throw endless(this.#access.endpoint);
          parts.push(part);
        }
        const { status, statusText, headers } = response;
        return new Response(Buffer.concat(parts), { status, statusText, headers });
      });
  }

  /**
   * Asks once.
   *
   * @throws Interruption where another try may help; ServiceError where the hub refuses
   */
  async ask(what: string, input: Parameters<typeof fetch>[0], init: RequestInit = {}): Promise<HubAnswer> {
    const silence = new Silence(this.#limits.silenceMs);
    const headers = new Headers(init.headers);
    // What is checked and gone on with are the file's own bytes.
    headers.set("accept-encoding", "identity");
    let response: Response;
    try {
      response = await this.#follow(addressOf(input), { ...init, headers, signal: silence.signal });
    } catch (error) {
      silence.end();
      throw error instanceof ServiceError ? error : this.#unreachable(error);
    }
    this.#hasAnswered = true;
    const refusal = refusalOf(response, what, this.#access);
    if (refusal !== null) {
      silence.end();
      await response.body?.cancel();
      throw refusal;
    }
    return { response, body: partsOf(response, silence) };
  }

  /** Follows redirects, each to where a hub may send a request; the token goes to the hub alone. */
  async #follow(from: URL, init: RequestInit & { readonly headers: Headers }): Promise<Response> {
    let url = from;
    for (let count = 0; ; count++) {
      const response = await fetch(url, { ...init, redirect: "manual" });
      const location = response.headers.get("location");
      if (location === null || ![301, 302, 303, 307, 308].includes(response.status)) return response;
      await response.body?.cancel();
      if (count === redirectsMax) throw circular(this.#access.endpoint);
      const target = redirectTarget(url, location, this.#access.endpoint);
      if (target.origin !== url.origin) init.headers.delete("authorization");
      url = target;
    }
  }

  /** Tries again, after a pause, what was interrupted. */
  async withRetries<Result>(work: () => Promise<Result>): Promise<Result> {
    for (let failedCount = 0; ; failedCount++) {
      try {
        return await work();
      } catch (error) {
        await this.pause(error, failedCount);
      }
    }
  }

  /**
   * Waits as long as it takes before something is tried again.
   *
   * @param failedCount how often it has failed before
   * @throws what was caught, where it is no {@link Interruption}; ServiceError `unavailable` where there is no use any more
   */
  async pause(caught: unknown, failedCount: number): Promise<void> {
    if (!(caught instanceof Interruption)) throw caught;
    const { retryCount, pauseMs, pauseMsMax } = this.#limits;
    const waitMs = caught.pauseMs ?? pauseMs * 2 ** failedCount;
    if (failedCount >= retryCount || waitMs > pauseMsMax) {
      const wait = waitMs > pauseMsMax ? ` and asks to wait ${Math.ceil(waitMs / 1000)} seconds` : "";
      throw new ServiceError({
        code: "unavailable",
        message: `${caught.message}${wait}. The same command goes on where this one ended.`,
        cause: caught,
      });
    }
    this.#access.onPause({ seconds: waitMs / 1000, reason: caught.message });
    await this.#access.clock.sleep(waitMs);
  }

  #unreachable(error: unknown): Error {
    const { endpoint } = this.#access;
    if (error instanceof Interruption)
      return new Interruption(`${endpoint} does not answer`, { cause: error });
    const reason = reasonOf(error);
    if (this.#hasAnswered)
      return new Interruption(`${endpoint} cannot be reached (${reason})`, { cause: error });
    return new ServiceError({
      code: "unavailable",
      message: `${endpoint} cannot be reached (${reason}). Is there a network? HF_ENDPOINT names a mirror, and \`hone models add <file or folder>\` takes a model that was fetched elsewhere.`,
      cause: error,
    });
  }
}

/** The parts of a body as they come. */
async function* partsOf(response: Response, silence: Silence): AsyncGenerator<Uint8Array, void> {
  try {
    if (response.body === null) return;
    // Node's streams can be iterated; the types are those of browsers, where not all can.
    for await (const part of response.body as unknown as AsyncIterable<Uint8Array>) {
      silence.broken();
      yield part;
    }
  } catch (error) {
    const reason =
      error instanceof Interruption ? error.message : `the connection was cut (${reasonOf(error)})`;
    throw new Interruption(reason, { cause: error });
  } finally {
    silence.end();
  }
}

/** Ends a request in which nothing comes for too long. */
class Silence {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;

  constructor(silenceMs: number) {
    this.#timer = setTimeout(() => {
      this.#controller.abort(new Interruption(`nothing came for ${silenceMs / 1000} seconds`));
    }, silenceMs).unref();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Something came. */
  broken(): void {
    this.#timer.refresh();
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

function addressOf(input: Parameters<typeof fetch>[0]): URL {
  return new URL(input instanceof Request ? input.url : input);
}

function circular(endpoint: string): ServiceError {
  const message = `${endpoint} sends a request on ${redirectsMax} times and more. Does HF_ENDPOINT name the right server?`;
  return new ServiceError({ code: "unavailable", message });
}

function endless(endpoint: string): ServiceError {
  const message = `${endpoint} answers with more than ${answerBytesMax} bytes where a hub has some thousand; is it one?`;
  return new ServiceError({ code: "unavailable", message });
}

/** The system's word for what went wrong, which `fetch` has as the cause of its own error. */
function reasonOf(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ("code" in at && typeof at.code === "string" && at.code !== "") return at.code;
    if (!(at.cause instanceof Error)) return at.message;
  }
  return String(error);
}
