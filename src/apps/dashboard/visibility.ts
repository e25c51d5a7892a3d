// Tracks the page's visibility: a hidden tab sends no requests.

/** Resolves once the page is visible, or the signal aborts. */
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

/** Aborts once the page is hidden, or the signal aborts. */
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
