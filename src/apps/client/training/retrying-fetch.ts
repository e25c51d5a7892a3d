// A `fetch` for runs that outlast server restarts. While the server loads its model, restarts or is unreachable,
// requests wait up to a deadline; only requests that are safe to send twice are repeated.
import { answeredError, HoneError } from "../hone-error.ts";
import type { Platform } from "../platform.ts";
import { callRoute } from "../recording/trajectory-fetch.ts";

type Send = (url: string, request: RequestInit) => Promise<Response>;

export interface RetryPolicy {
  readonly platform: Pick<Platform, "sleep" | "monotonicMs">;
  /** Base URL without `/v1`. */
  readonly baseUrl: string;
  /** Base model that the server must serve. If loading it has failed, waiting stops. */
  readonly base: string;
  /** Maximum wait in milliseconds. */
  readonly timeoutMs: number;
  /** Called before each wait, with the reason and the time waited so far. */
  readonly onWait: (reason: string, waitedMs: number) => void;
  /** Called when waiting stops, with the error that the request throws. */
  readonly onGivenUp: (error: HoneError) => void;
}

const unavailableStatus = 503;
const firstWaitMs = 500;
const waitMsMax = 5000;

/**
 * Returns a `fetch` that repeats requests until the server answers.
 *
 * @throws HoneError `server_unavailable` at the deadline, or if the server cannot load the base model
 */
export function retryingFetch(send: Send, patience: RetryPolicy): Send {
  const { platform, timeoutMs, onWait, onGivenUp } = patience;
  return async (url, request) => {
    const beganMs = platform.monotonicMs();
    for (let attempt = 0; ; attempt++) {
      const { response, obstacle } = await attempted(send, url, request);
      if (obstacle === null) return response;
      const { reason, isFinal } = await reasonOf(send, obstacle, patience);
      const waitedMs = platform.monotonicMs() - beganMs;
      if (isFinal || waitedMs >= timeoutMs) {
        const error = unavailable(patience.baseUrl, isFinal ? null : waitedMs, reason);
        onGivenUp(error);
        throw error;
      }
      onWait(reason, waitedMs);
      const waitMs = Math.min(obstacle.retryAfterMs ?? firstWaitMs * 2 ** attempt, waitMsMax);
      await platform.sleep(Math.min(waitMs, timeoutMs - waitedMs), request.signal ?? undefined);
    }
  };
}

/**
 * Waits until the server and the base model are ready, so that the wait does not count against the timeouts of
 * rollouts.
 *
 * @throws HoneError `server_unavailable` at the deadline, or if the server cannot load the base model
 */
export async function serverReady(send: Send, patience: RetryPolicy, signal: AbortSignal): Promise<void> {
  const { baseUrl, base } = patience;
  const patient = retryingFetch(async (url, request) => {
    const response = await send(url, request);
    const health = await healthIn(response.clone());
    if (response.status !== 200 || health.models?.[base]?.startsWith("loading") !== true) return response;
    return new Response(JSON.stringify(health), {
      status: unavailableStatus,
      headers: { "retry-after": "1" },
    });
  }, patience);
  await patient(`${baseUrl}/health`, { method: "GET", signal });
}

/** Reason why a request is repeated. */
interface RetryReason {
  readonly reason: string;
  /** False if the server did not answer. */
  readonly isAnswered: boolean;
  readonly retryAfterMs: number | null;
}

async function attempted(
  send: Send,
  url: string,
  request: RequestInit,
): Promise<
  | { readonly response: Response; readonly obstacle: null }
  | { readonly response: null; readonly obstacle: RetryReason }
> {
  try {
    const response = await send(url, request);
    if (response.status !== unavailableStatus) return { response, obstacle: null };
    const { message, retryAfterSeconds } = answeredError(response, await response.text());
    const retryAfterMs = retryAfterSeconds === null ? null : retryAfterSeconds * 1000;
    const reason = message.replace(/^503: /, "").replace(/ Its log has more under the request id \S+$/, "");
    return { response: null, obstacle: { reason, isAnswered: true, retryAfterMs } };
  } catch (error) {
    request.signal?.throwIfAborted();
    const cause = causeOf(error);
    if (!isOfNetwork(error, cause) || !mayRepeat(cause, url, request)) throw error;
    return { response: null, obstacle: { reason: cause.message, isAnswered: false, retryAfterMs: null } };
  }
}

interface Cause {
  readonly code: string;
  readonly message: string;
}

function causeOf(error: unknown): Cause {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return { code: "", message: String(cause) };
  const { code } = cause as { readonly code?: unknown };
  return {
    code: typeof code === "string" ? code : "",
    message: cause.message || (typeof code === "string" ? code : cause.name),
  };
}

/** Codes of errors that occur before a connection exists, when nothing has been sent. */
const unsent: readonly string[] = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"];

/** True for a network error. False for program errors, such as those of a custom `fetch`, which a retry would hide. */
function isOfNetwork(error: unknown, { code }: Cause): boolean {
  return code !== "" || error instanceof TypeError;
}

/** True if the request is safe to repeat. Repeating a call of a model only samples a second answer. */
function mayRepeat({ code }: Cause, url: string, { method = "GET", headers }: RequestInit): boolean {
  if (unsent.includes(code)) return true;
  if (method === "GET" || new Headers(headers).has("idempotency-key")) return true;
  return callRoute.test(new URL(url).pathname);
}

interface Health {
  readonly reason?: string;
  readonly models?: Readonly<Record<string, string>>;
}

async function healthIn(response: Response): Promise<Health> {
  try {
    return (await response.json()) as Health; // Safe cast: each member is read as optional and unchecked.
  } catch {
    // The answer comes from another program.
    return {};
  }
}

/** Returns the reason that the server's health report gives, which is more specific than the request's error. */
async function reasonOf(
  send: Send,
  { reason, isAnswered }: RetryReason,
  { baseUrl, base }: RetryPolicy,
): Promise<{ readonly reason: string; readonly isFinal: boolean }> {
  if (!isAnswered) return { reason, isFinal: false };
  const health = await send(`${baseUrl}/health`, { method: "GET" }).then(healthIn, (): Health => ({}));
  const model = health.models?.[base] ?? "";
  if (model.startsWith("failed")) return { reason: `the base model ${base}: ${model}`, isFinal: true };
  if (model.startsWith("loading")) return { reason: `the base model ${base} is ${model}`, isFinal: false };
  return { reason: health.reason ? health.reason : reason, isFinal: false };
}

function unavailable(baseUrl: string, waitedMs: number | null, reason: string): HoneError {
  const wait = waitedMs === null ? "cannot serve" : `did not serve for ${Math.round(waitedMs / 1000)} s`;
  const cure =
    waitedMs === null
      ? "See its log, or `hone doctor`."
      : "Call train again when it is back, and the run continues; serverTimeout waits longer.";
  const message = `${baseUrl} ${wait} (${reason}). ${cure}`;
  return new HoneError({ code: "server_unavailable", message });
}
