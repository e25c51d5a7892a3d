// Sends requests to a hub. A request times out if no data arrives, is retried after interruptions, and fails with an
// error that names a cure. This module does not interpret the content.
import { ServiceError } from "../../../../base/domain/service-error.ts";
import { HttpClient, isRedirect, type HttpAnswer } from "../../../../base/http-client/http-client.ts";
import { AnswerTooLarge, HttpTimeout, describeFailure } from "../../../../base/http-client/http-failure.ts";
import { readBytes } from "../../../../base/http-client/read-answer.ts";
import { hubLimits, type HubAccess, type HubLimits } from "./access.ts";
import { Interruption } from "./interruption.ts";
import { redirectsMax, redirectTarget } from "./redirects.ts";
import { refusalOf } from "./refusals.ts";

/** A response of the hub. Its body yields data within the time limit, or throws an {@link Interruption}. */
export type HubAnswer = Pick<HttpAnswer, "status" | "headers" | "header" | "body" | "release">;

/** Maximum size in bytes of a response that is read as a whole, such as a list or description of repositories. */
const answerBytesMax = 64 * 1024 * 1024;

export class HubRequests {
  readonly #access: HubAccess;
  readonly #limits: HubLimits;
  readonly #client = new HttpClient();
  /**
   * True once the hub has responded. After that, a failed connection is worth a retry; before that, the address may be
   * wrong.
   */
  #hasAnswered = false;

  constructor(access: HubAccess) {
    this.#access = access;
    this.#limits = { ...hubLimits, ...access.limits };
  }

  /**
   * Returns a `fetch` function for the hub's library, for responses that are read as a whole. `what` names the
   * requested thing in error messages.
   */
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
   * Sends one request, without retries.
   *
   * @throws Interruption if a retry may help; ServiceError if the hub refuses the request
   */
  async ask(what: string, input: Parameters<typeof fetch>[0], init: RequestInit = {}): Promise<HubAnswer> {
    const sent = new Headers(init.headers);
    // The hub's checksums and byte ranges refer to the file's bytes without any encoding.
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

  /** Sends a request, and follows redirects to permitted targets. Sends the token only to the hub itself. */
  async #follow(from: URL, method: string, headers: Headers): Promise<HttpAnswer> {
    const { silenceMs } = this.#limits;
    const timeouts = { connectMs: silenceMs, answerMs: silenceMs, nextMs: silenceMs };
    let url = from;
    for (let count = 0; ; count++) {
      const sent = Object.fromEntries(headers);
      const answer = await this.#client.send({ method, url, headers: sent, timeouts });
      const location = answer.header("location");
      if (location === null || !isRedirect(answer)) return answer;
      answer.release();
      if (count === redirectsMax) throw circular(this.#access.endpoint);
      const target = redirectTarget(url, location, this.#access.endpoint);
      if (target.origin !== url.origin) headers.delete("authorization");
      url = target;
    }
  }

  /** Runs `work`. If it is interrupted, runs it again after a pause. */
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
   * Waits before a retry.
   *
   * @param failedCount number of earlier failures
   * @throws `caught`, unless it is an {@link Interruption}; ServiceError `unavailable` if no retry is left
   */
  async pause(caught: unknown, failedCount: number): Promise<void> {
    if (!(caught instanceof Interruption)) throw caught;
    const { retryCount, pauseMs, pauseMsMax } = this.#limits;
    const waitMs = caught.pauseMs ?? pauseMs * 2 ** failedCount;
    if (failedCount >= retryCount || waitMs > pauseMsMax) {
      const wait = waitMs > pauseMsMax ? ` and asks to wait ${Math.ceil(waitMs / 1000)} seconds` : "";
      throw new ServiceError({
        code: "unavailable",
        message: `${caught.message}${wait}. Run the same command again to resume.`,
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
    const reason = describeFailure(error);
    if (this.#hasAnswered)
      return new Interruption(`${endpoint} cannot be reached (${reason})`, { cause: error });
    return new ServiceError({
      code: "unavailable",
      message: `${endpoint} cannot be reached (${reason}). Is there a network? HF_ENDPOINT names a mirror, and \`hone models add <file or folder>\` takes a model that was fetched elsewhere.`,
      cause: error,
    });
  }
}

/** Yields the data of a body as it arrives. */
async function* partsOf({ body }: HttpAnswer): AsyncGenerator<Uint8Array, void> {
  try {
    yield* body;
  } catch (error) {
    const reason =
      error instanceof HttpTimeout
        ? `nothing came for ${error.durationMs / 1000} seconds`
        : `the connection was cut (${describeFailure(error)})`;
    throw new Interruption(reason, { cause: error });
  }
}

function addressOf(input: Parameters<typeof fetch>[0]): URL {
  return new URL(input instanceof Request ? input.url : input);
}

function circular(endpoint: string): ServiceError {
  const message = `${endpoint} redirects a request ${redirectsMax} times or more. Does HF_ENDPOINT name the right server?`;
  return new ServiceError({ code: "unavailable", message });
}

function endless(endpoint: string): ServiceError {
  const message = `${endpoint} answers with more than ${answerBytesMax} bytes, far more than a hub; is it one?`;
  return new ServiceError({ code: "unavailable", message });
}
