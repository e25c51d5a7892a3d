// Requests to a hub: each with a deadline on silence, tried again where that may help, and refused in words that say what to
// do. Knows nothing of what is asked for.
import { ServiceError } from "../../../../base/domain/service-error.ts";
import { HttpClient, isRedirect, type HttpAnswer } from "../../../../base/http-client/http-client.ts";
import { AnswerTooLarge, HttpTimeout, reasonOf } from "../../../../base/http-client/http-failure.ts";
import { readBytes } from "../../../../base/http-client/read-answer.ts";
import { hubLimits, type HubAccess, type HubLimits } from "./access.ts";
import { Interruption } from "./interruption.ts";
import { redirectsMax, redirectTarget } from "./redirects.ts";
import { refusalOf } from "./refusals.ts";

/** An answer whose body's parts come within the deadline or throw an {@link Interruption}. */
export type HubAnswer = Pick<HttpAnswer, "status" | "headers" | "header" | "body" | "release">;

/** More than any list or description of a repository takes. */
const answerBytesMax = 64 * 1024 * 1024;

export class HubRequests {
  readonly #access: HubAccess;
  readonly #limits: HubLimits;
  readonly #client = new HttpClient();
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
        const { status, headers, body } = await this.ask(what, input, init);
        const bytes = await readBytes(body, answerBytesMax).catch((error: unknown) => {
          throw error instanceof AnswerTooLarge ? endless(this.#access.endpoint) : error;
        });
        const pairs = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]);
        return new Response(new Uint8Array(bytes), { status, headers: pairs });
      });
  }

  /**
   * Asks once.
   *
   * @throws Interruption where another try may help; ServiceError where the hub refuses
   */
  async ask(what: string, input: Parameters<typeof fetch>[0], init: RequestInit = {}): Promise<HubAnswer> {
    const sent = new Headers(init.headers);
    // What is checked and gone on with are the file's own bytes.
    sent.set("accept-encoding", "identity");
    let answer: HttpAnswer;
    try {
      answer = await this.#follow(addressOf(input), init.method ?? "GET", sent);
    } catch (error) {
      throw error instanceof ServiceError ? error : this.#unreachable(error);
    }
    this.#hasAnswered = true;
    const refusal = refusalOf(answer, what, this.#access);
    if (refusal === null) return { ...answer, body: partsOf(answer) };
    answer.release();
    throw refusal;
  }

  /** Follows redirects, each to where a hub may send a request; the token goes to the hub alone. */
  async #follow(from: URL, method: string, headers: Headers): Promise<HttpAnswer> {
    const { silenceMs } = this.#limits;
    const waits = { connectMs: silenceMs, answerMs: silenceMs, nextMs: silenceMs };
    let url = from;
    for (let count = 0; ; count++) {
      const sent = Object.fromEntries(headers);
      const answer = await this.#client.send({ method, url, headers: sent, waits });
      const location = answer.header("location");
      if (location === null || !isRedirect(answer)) return answer;
      answer.release();
      if (count === redirectsMax) throw circular(this.#access.endpoint);
      const target = redirectTarget(url, location, this.#access.endpoint);
      if (target.origin !== url.origin) headers.delete("authorization");
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
    if (error instanceof HttpTimeout)
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
async function* partsOf({ body }: HttpAnswer): AsyncGenerator<Uint8Array, void> {
  try {
    yield* body;
  } catch (error) {
    const reason =
      error instanceof HttpTimeout
        ? `nothing came for ${error.durationMs / 1000} seconds`
        : `the connection was cut (${reasonOf(error)})`;
    throw new Interruption(reason, { cause: error });
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
