// Follows a job's events until it ends, even if the server restarts. After a lost connection, resumes after the last
// event received; fails if no server answers before a deadline.
import type { TrainingEvent } from "../../api.ts";
import type { RequestOptions } from "../../connection.ts";
import { HoneError } from "../../hone-error.ts";
import type { Platform } from "../../platform.ts";

export interface WatchOptions extends RequestOptions {
  /** Id of the last event received; only later events are sent. */
  readonly after?: string | undefined;
  /** Called once the server has begun to answer. */
  readonly onOpen?: (() => void) | undefined;
}

export interface FollowOptions extends RequestOptions {
  /** Id of the last event received; only later events are sent. */
  readonly after?: string | undefined;
  /** Maximum time without an answer in milliseconds; default 120,000, enough for a server restart. */
  readonly deadline?: number | undefined;
  /** Called once for each lost connection, with the reason. */
  readonly onLost?: ((reason: string) => void) | undefined;
  readonly onBack?: (() => void) | undefined;
}

/** Opens connections that stream a job's events. */
export interface EventSource {
  watch(jobId: string, options: WatchOptions): AsyncIterable<TrainingEvent>;
}

const againMs = 500;

export async function* followJob(
  source: EventSource,
  jobId: string,
  { after: from, deadline = 120_000, onLost, onBack, ...options }: FollowOptions,
  platform: Pick<Platform, "monotonicMs" | "sleep">,
): AsyncGenerator<TrainingEvent> {
  let after = from;
  let lostAtMs: number | null = null;
  const onOpen = (): void => {
    if (lostAtMs !== null) onBack?.();
    lostAtMs = null;
  };
  for (;;) {
    let reason = "the server ended the connection";
    try {
      // `watch` itself must not retry, because all attempts share this function's deadline.
      for await (const event of source.watch(jobId, { ...options, retries: 0, after, onOpen })) {
        after = event.id;
        yield event;
        if (event.type === "training_ended" || event.type === "training_failed") return;
      }
    } catch (error) {
      if (!mayPass(error)) throw error;
      reason = reasonOf(error);
    }
    if (lostAtMs === null) {
      lostAtMs = platform.monotonicMs();
      onLost?.(reason);
    }
    if (platform.monotonicMs() - lostAtMs >= deadline) throw givenUp(jobId, deadline, reason);
    await platform.sleep(againMs, options.signal);
  }
}

/** True if a server restart or a network fault may have caused the error; false if the server refused the request. */
function mayPass(error: unknown): error is HoneError {
  if (!(error instanceof HoneError)) return false;
  return passing.includes(error.code) || error.status === 429 || error.status >= 500;
}

/** Codes of errors that a retry may resolve, raised by this client or sent in a stream. */
const passing: readonly string[] = ["connection", "timeout", "overloaded", "unavailable", "cancelled"];

/** Returns why a connection failed or was lost: the message of the error's cause, or else the error's own message. */
function reasonOf({ cause, message }: HoneError): string {
  if (!(cause instanceof Error)) return message;
  return cause.cause instanceof Error ? cause.cause.message : cause.message;
}

function givenUp(jobId: string, deadlineMs: number, reason: string): HoneError {
  const message = `No server answered for ${deadlineMs / 1000} s (${reason}). The job continues on the server: hone jobs watch ${jobId}`;
  return new HoneError({ code: "connection", message });
}
