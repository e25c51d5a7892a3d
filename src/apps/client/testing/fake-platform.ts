// For tests: a platform without an environment, with counted ids and waits that return immediately.
import type { Platform } from "../platform.ts";

export interface FakePlatform extends Platform {
  /** Duration of every wait in milliseconds. */
  readonly waits: readonly number[];
}

export function fakePlatform(environment: Readonly<Record<string, string>> = {}): FakePlatform {
  const waits: number[] = [];
  let nowMs = 0;
  let idCount = 0;
  return {
    waits,
    environment: (name) => environment[name],
    newId: () => `id-${++idCount}`,
    uniform: () => 0.5,
    monotonicMs: () => nowMs,
    now: () => new Date(nowMs),
    output: () => null,
    sleep: async (durationMs, signal) => {
      signal?.throwIfAborted();
      waits.push(durationMs);
      nowMs += durationMs;
    },
  };
}
