// For tests: a place without an environment, where waiting takes no time and ids are counted.
import type { Platform } from "../platform.ts";

export interface FakePlatform extends Platform {
  /** Milliseconds of every wait. */
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
