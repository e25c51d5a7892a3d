// For tests: a platform without environment variables, whose ids are counted up and whose waits return immediately.
import type { Platform } from "../platform.ts";

export interface FakePlatform extends Platform {
  /** Durations of all waits so far, in milliseconds. */
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
    webSocket: () => null,
  };
}
