// An engine that computes nothing and plays back given answers, for measuring the code around an engine.
import type {
  Engine,
  EngineLimits,
  Generation,
  GenerationEvent,
  GenerationRequest,
} from "../../src/base/domain/generation.ts";

/** @param play returns the events with which the engine answers a request; requests to abort are ignored */
export function playedEngine(
  limits: EngineLimits,
  play: (request: GenerationRequest) => AsyncIterable<readonly GenerationEvent[]>,
): Engine {
  return {
    capabilities: { features: new Set(), isExact: true },
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(),
    roomFor: () => limits.contextLength,
    prepareAdapter: () => Promise.resolve(),
    dropAdapter: () => undefined,
    status: () => ({
      state: { kind: "ready", limits },
      runningCount: 0,
      waitingCount: 0,
      waitingCountMax: 1,
      gauges: () => [],
    }),
    submit: (request): Generation => ({
      events: play(request),
      stopChoice: () => undefined,
      abort: () => undefined,
    }),
  };
}
