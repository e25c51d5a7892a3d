// Lets other requests go first: learning asks models only while the server answers no other requests.
import type { Clock } from "../../base/domain/clock.ts";
import type { LearningSettings } from "./settings.ts";

export interface IdleWait {
  readonly clock: Pick<Clock, "sleep" | "monotonicMs">;
  /** Returns the number of requests that the server is answering now. */
  readonly runningCount: () => number;
  readonly settings: Pick<LearningSettings, "idlePollMs" | "idleMsMax">;
  readonly signal: AbortSignal;
}

/**
 * Resolves when the server answers no requests, or after the maximum wait.
 *
 * @throws if the signal aborts
 */
export async function waitUntilIdle({ clock, runningCount, settings, signal }: IdleWait): Promise<void> {
  const end = clock.monotonicMs() + settings.idleMsMax;
  while (runningCount() > 0 && clock.monotonicMs() < end) await clock.sleep(settings.idlePollMs, { signal });
  signal.throwIfAborted();
}
