// Chat's counters and histograms. Some have Hone's own names, others the names of vLLM's metrics.
import type { ChatUsage } from "../../../base/domain/chat.ts";
import type { Metrics } from "../../../base/telemetry/metrics.ts";
import { computePhases, type ChatTimeline } from "./chat-timeline.ts";

export interface ChatMetrics {
  /** Counts an ended request. `outcome` is `completed`, or the code of the error with which the request ended. */
  ended(outcome: string, durationMs: number): void;
  firstOutput(base: string, waitedMs: number): void;
  /**
   * Counts the tokens that a request has used since the last call: `usage` minus `before`, the usage that was already
   * counted.
   */
  used(base: string, usage: ChatUsage, before: ChatUsage): void;
}

const usageKinds = [
  ["prompt", "promptTokens"],
  ["cached", "cachedTokens"],
  ["completion", "completionTokens"],
] as const;

const secondsBuckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/**
 * Registers the metrics. Must be called once per registry.
 *
 * @param running returns the number of running requests; called at each scrape
 */
export function createChatMetrics(metrics: Metrics, running: () => number): ChatMetrics {
  const requests = metrics.counter({
    name: "hone_chat_requests_total",
    help: "Chat requests, by outcome.",
    labels: ["outcome"],
  });
  const tokens = metrics.counter({
    name: "hone_chat_tokens_total",
    help: "Tokens of chat requests: prompt (cached ones included), cached and completion.",
    labels: ["base", "kind"],
  });
  const duration = metrics.histogram({
    name: "hone_chat_duration_seconds",
    help: "Time from request to end.",
    buckets: secondsBuckets,
  });
  const firstOutput = metrics.histogram({
    name: "hone_chat_first_output_seconds",
    help: "Time from request to the engine's first output.",
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

// Metrics of requests with vLLM's names and buckets, for gateways and dashboards that are made for vLLM. The state of
// an engine is exported elsewhere, as gauges.

export interface VllmMetrics {
  firstToken(base: string, waitedMs: number): void;
  /** Records an ended request. Must be called only if the request's model is known. */
  ended(base: string, timeline: ChatTimeline): void;
}

/** Labels that identify an engine, with vLLM's names. On this server each base model has one engine. */
export const vllmLabels = (base: string) => ({ model_name: base, engine: "0" });

const labels = ["model_name", "engine"];
/** Histogram buckets, the same as vLLM's. */
const firstTokenBuckets = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640,
  2560,
];
const perTokenBuckets = [
  0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
];
const requestBuckets = [
  0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680,
];
const tokenBuckets = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000];

/** Registers the metrics. Must be called once per registry. */
export function createVllmMetrics(metrics: Metrics): VllmMetrics {
  const histogram = (name: string, help: string, buckets: readonly number[]) =>
    metrics.histogram({ name: `vllm:${name}`, help, labels, buckets });
  const counter = (name: string, help: string, more: readonly string[] = []) =>
    metrics.counter({ name: `vllm:${name}`, help, labels: [...labels, ...more] });
  const firstToken = histogram(
    "time_to_first_token_seconds",
    "Time from request to first token.",
    firstTokenBuckets,
  );
  const perToken = histogram(
    "request_time_per_output_token_seconds",
    "Mean time between the tokens of a request.",
    perTokenBuckets,
  );
  const total = histogram("e2e_request_latency_seconds", "Time from request to end.", requestBuckets);
  const queued = histogram("request_queue_time_seconds", "Time waiting in the engine.", requestBuckets);
  const prefill = histogram(
    "request_prefill_time_seconds",
    "Time to compute the prompt, up to the first token.",
    requestBuckets,
  );
  const decode = histogram(
    "request_decode_time_seconds",
    "Time from the first token to the last.",
    requestBuckets,
  );
  const inference = histogram(
    "request_inference_time_seconds",
    "Time to compute prompt and answer.",
    requestBuckets,
  );
  const promptTokens = histogram("request_prompt_tokens", "Tokens of the prompt.", tokenBuckets);
  const answerTokens = histogram("request_generation_tokens", "Tokens of all answers.", tokenBuckets);
  const prompts = counter("prompt_tokens_total", "Tokens of prompts.");
  const answers = counter("generation_tokens_total", "Tokens of answers.");
  const finished = counter("request_success_total", "Finished choices, by reason.", ["finished_reason"]);
  return {
    firstToken: (base, waitedMs) => firstToken.observe(waitedMs / 1000, vllmLabels(base)),
    ended: (base, timeline) => {
      const own = vllmLabels(base);
      const { usage, outcome } = timeline;
      if (timeline.computedMs !== null) prompts.increase(own, usage.promptTokens);
      answers.increase(own, usage.completionTokens);
      for (const { reason } of timeline.finishes)
        finished.increase({ ...own, finished_reason: shown(reason) });
      if (outcome !== "completed")
        finished.increase({ ...own, finished_reason: outcome === "cancelled" ? "abort" : "error" });
      const phases = outcome === "completed" ? computePhases(timeline) : null;
      if (phases === null) return;
      total.observe(phases.totalMs / 1000, own);
      queued.observe(phases.queuedMs / 1000, own);
      prefill.observe(phases.prefillMs / 1000, own);
      decode.observe(phases.decodeMs / 1000, own);
      inference.observe((phases.prefillMs + phases.decodeMs) / 1000, own);
      if (phases.perTokenMs !== null) perToken.observe(phases.perTokenMs / 1000, own);
      promptTokens.observe(usage.promptTokens, own);
      answerTokens.observe(usage.completionTokens, own);
    },
  };
}

/** Returns the finish reason under which vLLM counts a choice: `stop` for a choice with tool calls. */
function shown(reason: ChatTimeline["finishes"][number]["reason"]): string {
  return reason === "tool_calls" ? "stop" : reason;
}
