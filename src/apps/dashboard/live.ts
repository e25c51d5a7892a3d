// The server's summary, which one event stream of the page keeps current while its tab is visible.
import { computed, signal } from "@preact/signals";
import type { ServerSummary } from "../client/api.ts";
import type { Hone } from "../client/hone.ts";
import { HoneError } from "../client/hone-error.ts";
import { endSession } from "./session.ts";
import { pause, untilVisible, whileVisible } from "./visibility.ts";

/** Latest summary; null before the first. */
export const summary = signal<ServerSummary | null>(null);

/** True while the server does not answer. The last summary is then outdated. */
export const isAway = signal(false);

/** Changes when a job is created, starts or ends. Lists of jobs are loaded again then. */
export const jobsChanged = computed(() => {
  const now = summary.value;
  return now === null ? "" : [now.newest_job_id, ...now.running_jobs.map(({ id }) => id)].join(" ");
});

const [pauseMinMs, pauseMaxMs] = [500, 10_000];

/** Follows the summary until the returned function is called. Connects again if the connection is lost. */
export function followServer(hone: Hone): () => void {
  const leaving = new AbortController();
  void follow(hone, leaving.signal);
  return () => leaving.abort();
}

async function follow(hone: Hone, signal: AbortSignal): Promise<void> {
  let pauseMs = pauseMinMs;
  while (!signal.aborted) {
    await untilVisible(signal);
    const visible = whileVisible(signal);
    try {
      for await (const now of hone.server.watchSummary({ signal: visible, retries: 0 })) {
        summary.value = now;
        isAway.value = false;
        pauseMs = pauseMinMs;
      }
    } catch (error) {
      if (visible.aborted) continue;
      if (error instanceof HoneError && error.status === 401) return endSession();
      isAway.value = true;
    }
    await pause(pauseMs, visible);
    pauseMs = Math.min(2 * pauseMs, pauseMaxMs);
  }
}
