// Follows a job's events to its end, across restarts of its server: a connection that breaks is made again behind the last
// event that came, and given up when nobody answered for too long.
import type { TrainingEvent } from "../api.ts";
import type { RequestOptions } from "../connection.ts";
import { HoneError } from "../hone-error.ts";
import type { Platform } from "../platform.ts";

export interface WatchOptions extends RequestOptions {
  /** The id of the last event that came, to go on behind it. */
  readonly after?: string | undefined;
  /** Called once the server has answered. */
  readonly onOpen?: (() => void) | undefined;
}

export interface FollowOptions extends RequestOptions {
  /** The id of the last event that came, to go on behind it. */
  readonly after?: string | undefined;
  /** Milliseconds that nobody may answer; 120,000 unless given, in which a server starts again. */
  readonly deadline?: number | undefined;
  /** Called once for each break, with its reason. */
  readonly onLost?: ((reason: string) => void) | undefined;
  readonly onBack?: (() => void) | undefined;
}

/** One connection that brings events. */
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
      // Repeats are made here, and counted against one deadline.
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

/** Whether a server that starts again, or a network, may be the cause: not what it refuses. */
function mayPass(error: unknown): error is HoneError {
  if (!(error instanceof HoneError)) return false;
  return passing.includes(error.code) || error.status === 429 || error.status >= 500;
}

/** Of what this side saw, and of streams that ended with it. */
const passing: readonly string[] = ["connection", "timeout", "overloaded", "unavailable", "cancelled"];

/** A connection that is not made, or breaks off, says why in its causes. */
function reasonOf({ cause, message }: HoneError): string {
  if (!(cause instanceof Error)) return message;
  return cause.cause instanceof Error ? cause.cause.message : cause.message;
}

function givenUp(jobId: string, deadlineMs: number, reason: string): HoneError {
  const message = `Nobody answered for ${deadlineMs / 1000} s (${reason}). The job goes on without: hone jobs watch ${jobId}`;
  return new HoneError({ code: "connection", message });
}
