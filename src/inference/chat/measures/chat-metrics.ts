// What chat counts and times, in one place.
import type { ChatUsage } from "../../../base/domain/chat.ts";
import type { Metrics } from "../../../base/telemetry/metrics.ts";

export interface ChatMetrics {
  /** `outcome` is `completed` or the code of the error that ended the request. */
  ended(outcome: string, durationMs: number): void;
  firstOutput(base: string, waitedMs: number): void;
  /** Counts what a request has used since `before`. */
  used(base: string, usage: ChatUsage, before: ChatUsage): void;
}

const usageKinds = [
  ["prompt", "promptTokens"],
  ["cached", "cachedTokens"],
  ["completion", "completionTokens"],
] as const;

const secondsBuckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/** Registers the metrics; once per registry. `running` is read at each scrape. */
export function createChatMetrics(metrics: Metrics, running: () => number): ChatMetrics {
  const requests = metrics.counter({
    name: "hone_chat_requests_total",
    help: "Chat requests, by how they ended.",
    labels: ["outcome"],
  });
  const tokens = metrics.counter({
    name: "hone_chat_tokens_total",
    help: "Tokens of chat requests: prompt (cached ones included), cached and completion.",
    labels: ["base", "kind"],
  });
  const duration = metrics.histogram({
    name: "hone_chat_duration_seconds",
    help: "From request to end.",
    buckets: secondsBuckets,
  });
  const firstOutput = metrics.histogram({
    name: "hone_chat_first_output_seconds",
    help: "From request to the engine's first output.",
    labels: ["base"],
    buckets: secondsBuckets,
  });
  metrics.gauge({ name: "hone_chat_running", help: "Chat requests waiting or being answered." }, () => [
    { value: running() },
  ]);
  return {
    ended: (outcome, durationMs) => {
      requests.increase({ outcome });
      duration.observe(durationMs / 1000);
    },
    firstOutput: (base, waitedMs) => firstOutput.observe(waitedMs / 1000, { base }),
    used: (base, usage, before) => {
      for (const [kind, name] of usageKinds) {
        const count = usage[name] - before[name];
        if (count > 0) tokens.increase({ base, kind }, count);
      }
    },
  };
}
