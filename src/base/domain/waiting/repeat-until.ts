// Periodic work of a service, until the service stops.
import type { Clock } from "../clock.ts";
import { serviceOf, type Service } from "../lifecycle.ts";

export interface Repetition {
  readonly clock: Pick<Clock, "sleep">;
  /** Pause in milliseconds between the end of a run and the beginning of the next one. */
  readonly pauseMs: number;
  /** Called with the error of each run that fails. The next run follows after the usual pause. */
  readonly onFault: (error: unknown) => void;
  /** True to pause before the first run, too. */
  readonly pausesFirst?: boolean;
}

/** Runs `work` again and again until the signal aborts. Resolves when the current run has ended; never rejects. */
export async function repeatUntil(
  signal: AbortSignal,
  { clock, pauseMs, onFault, pausesFirst = false }: Repetition,
  work: () => Promise<unknown>,
): Promise<void> {
  // The sleep rejects only because the signal aborts.
  const pause = (): Promise<void> => clock.sleep(pauseMs, { signal }).catch(() => undefined);
  if (pausesFirst) await pause();
  while (!signal.aborted) {
    await work().catch(onFault);
    await pause();
  }
}

/**
 * Creates a service that runs `work` again and again while it is started.
 *
 * @param end called at the stop, when the current run has ended
 */
export function repeatingService(
  name: string,
  repetition: Repetition,
  work: (signal: AbortSignal) => Promise<unknown>,
  end?: () => Promise<unknown>,
): Service {
  let repeating: Promise<void> = Promise.resolve();
  return serviceOf(name, {
    start: async (signal) => {
      repeating = repeatUntil(signal, repetition, () => work(signal));
    },
    stop: async () => {
      await repeating;
      await end?.();
    },
  });
}
