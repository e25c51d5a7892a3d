// Waits for the page to be visible or hidden, so that a hidden tab sends no requests; and pauses between requests.
import { webPlatform } from "../client/platform.ts";

/** Resolves once the page is visible or the signal has aborted. */
export function untilVisible(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look, { signal });
    signal.addEventListener("abort", look, { once: true });
    look();
  });
}

/** Returns a signal that aborts once the page is hidden or the given signal has aborted. */
export function whileVisible(signal: AbortSignal): AbortSignal {
  const looking = new AbortController();
  const stop = (): void => {
    if (document.hidden || signal.aborted) looking.abort();
  };
  document.addEventListener("visibilitychange", stop, { signal: looking.signal });
  signal.addEventListener("abort", stop, { once: true, signal: looking.signal });
  stop();
  return looking.signal;
}

/** Resolves after this number of milliseconds, or once the signal has aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return webPlatform.sleep(ms, signal).catch(() => undefined);
}
