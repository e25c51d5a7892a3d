// Metrics from OpenTelemetry's conventions for generative AI: those for model servers, and the token counts for
// clients.
// https://github.com/open-telemetry/semantic-conventions-genai, docs/gen-ai/gen-ai-metrics.md
import type { Meter } from "@opentelemetry/api";
import type { GenAiMeter } from "../tracing.ts";

/** Buckets of histograms in seconds, as the conventions specify them. */
const secondsBuckets = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];
const firstTokenBuckets = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
];
const perTokenBuckets = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];
const tokenBuckets = Array.from({ length: 14 }, (_, index) => 4 ** index);

export const providerName = "hone";

export function genAiMeter(meter: Meter): GenAiMeter {
  const histogram = (name: string, unit: string, description: string, explicitBucketBoundaries: number[]) =>
    meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries } });
  const duration = histogram(
    "gen_ai.server.request.duration",
    "s",
    "Time from request to the end of its answer.",
    secondsBuckets,
  );
  const firstToken = histogram(
    "gen_ai.server.time_to_first_token",
    "s",
    "Time from request to the first token of its answer.",
    firstTokenBuckets,
  );
  const perToken = histogram(
    "gen_ai.server.time_per_output_token",
    "s",
    "Mean time between the tokens of a request after the first.",
    perTokenBuckets,
  );
  const tokens = histogram(
    "gen_ai.client.token.usage",
    "{token}",
    "Tokens of prompts and of answers.",
    tokenBuckets,
  );
  return {
    record: ({ operation, model, error, seconds, firstTokenSeconds, perTokenSeconds, ...used }) => {
      const own = {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": providerName,
        "gen_ai.request.model": model,
      };
      duration.record(seconds, error === undefined ? own : { ...own, "error.type": error });
      if (used.inputTokens > 0) tokens.record(used.inputTokens, { ...own, "gen_ai.token.type": "input" });
      if (used.outputTokens > 0) tokens.record(used.outputTokens, { ...own, "gen_ai.token.type": "output" });
      // The metrics below are recorded only for requests that were answered.
      if (error !== undefined) return;
      if (firstTokenSeconds !== null) firstToken.record(firstTokenSeconds, own);
      if (perTokenSeconds !== null) perToken.record(perTokenSeconds, own);
    },
  };
}
