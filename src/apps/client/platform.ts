// What this client needs of the place it runs in, by the web's own names: a test runs it where there is nothing else. Time,
// randomness and the environment are read here alone.

export interface Platform {
  /** A variable of the environment; undefined where it is empty, there is no environment, or nobody may read it. */
  environment(name: string): string | undefined;
  /** A fresh UUID. */
  newId(): string;
  /** Uniform in [0, 1). */
  uniform(): number;
  /** Milliseconds from an arbitrary start; never goes back. */
  monotonicMs(): number;
  /** Wall-clock time, UTC. */
  now(): Date;
  /** The output for progress, and whether it is a terminal; null if there is none. */
  output(): { readonly isTerminal: boolean; write(text: string): unknown } | null;
  /** Rejects with the signal's reason when that aborts first. */
  sleep(durationMs: number, signal?: AbortSignal): Promise<void>;
}

interface ErrorStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

export const webPlatform: Platform = {
  environment: (name) => {
    const place = globalThis as { readonly process?: { readonly env?: Readonly<Record<string, string>> } };
    try {
      return place.process?.env?.[name] || undefined;
    } catch {
      // Deno asks for a permission, and was not given it.
      return undefined;
    }
  },
  newId: () => crypto.randomUUID(),
  uniform: () => (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) / 2 ** 32,
  monotonicMs: () => performance.now(),
  now: () => new Date(),
  output: () => {
    const { process } = globalThis as { readonly process?: { readonly stderr?: ErrorStream } };
    const stderr = process?.stderr;
    if (typeof stderr?.write !== "function") return null;
    return { isTerminal: stderr.isTTY === true, write: (text) => stderr.write(text) };
  },
  sleep: (durationMs, signal) =>
    new Promise((resolve, reject) => {
      const onAbort = (): void => {
        clearTimeout(timer);
        reject(signal?.reason as Error);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      }, durationMs);
      if (signal?.aborted === true) onAbort();
      else signal?.addEventListener("abort", onAbort, { once: true });
    }),
};
