// Follows a job's events to its end, across restarts of its server: a connection that breaks is made again behind the last
// event that came, and given up when nobody answered for too long.
import type { HoneClient } from "../../client/hone-client.ts";
import type { JobEventResource } from "../../client/resources.ts";
import { HoneApiError } from "../../client/transport.ts";
import type { Clock } from "../../domain/clock.ts";

/** The callbacks of a follower. */
export interface JobFollower {
  readonly onEvent: (event: JobEventResource) => void;
  /** Once for each break. */
  readonly onLost: (reason: string) => void;
  readonly onBack: () => void;
}

export interface FollowOptions {
  readonly clock: Clock;
  /** How long nobody may answer. */
  readonly deadlineMs: number;
  readonly signal?: AbortSignal;
}

const retryMs = 500;

/**
 * Resolves with the job's last event.
 *
 * @throws what the server refuses; HoneApiError when nobody answered for the deadline; the signal's reason
 */
export async function followJob(
  client: Pick<HoneClient, "watchTrainingJob">,
  jobId: string,
  follower: JobFollower,
  { clock, deadlineMs, signal }: FollowOptions,
): Promise<JobEventResource> {
  let after: string | undefined;
  let lostAtMs: number | null = null;
  const onOpen = (): void => {
    if (lostAtMs !== null) follower.onBack();
    lostAtMs = null;
  };
  for (;;) {
    let reason = "the server ended the connection";
    try {
      const options = { onOpen, ...(after === undefined ? {} : { after }), ...(signal && { signal }) };
      for await (const event of client.watchTrainingJob(jobId, options)) {
        after = event.id;
        follower.onEvent(event);
        if (event.type === "training_ended" || event.type === "training_failed") return event;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (!mayPass(error)) throw error;
      reason = reasonOf(error);
    }
    if (lostAtMs === null) {
      lostAtMs = clock.monotonicMs();
      follower.onLost(reason);
    }
    if (clock.monotonicMs() - lostAtMs >= deadlineMs) throw givenUp(jobId, deadlineMs, reason);
    await clock.sleep(retryMs, signal === undefined ? {} : { signal });
  }
}

/** Whether a server that starts again, or a network, may be the cause: not what it refuses. */
function mayPass(error: unknown): boolean {
  if (!(error instanceof HoneApiError)) return error instanceof Error;
  return error.status === 0 || error.status === 429 || error.status >= 500;
}

/** A body that breaks off says why in its cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
}

function givenUp(jobId: string, deadlineMs: number, reason: string): HoneApiError {
  return new HoneApiError({
    status: 0,
    message: `Nobody answered for ${deadlineMs / 1000} s (${reason}). The job goes on without: hone jobs watch ${jobId}`,
    requestId: null,
    body: null,
  });
}
