// Headers that report the rate limits of a request, in the form that OpenAI's clients read
// (https://platform.openai.com/docs/guides/rate-limits#rate-limits-in-headers).
import type { RateKind, RateStandings } from "../../../base/domain/keys/limits.ts";

const kinds: readonly RateKind[] = ["requests", "tokens"];

/** Returns the headers for the limits that are set. */
export function rateHeaders(standings: RateStandings): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const kind of kinds) {
    const standing = standings[kind];
    if (standing === null) continue;
    headers[`x-ratelimit-limit-${kind}`] = String(standing.limit);
    headers[`x-ratelimit-remaining-${kind}`] = String(standing.remaining);
    headers[`x-ratelimit-reset-${kind}`] = formatDuration(standing.resetSeconds);
  }
  return headers;
}

/** Names of all rate limit headers. */
export const rateHeaderNames: readonly string[] = kinds.flatMap((kind) =>
  ["limit", "remaining", "reset"].map((what) => `x-ratelimit-${what}-${kind}`),
);

/** Formats a duration as Go and OpenAI do, rounded up: `0s`, `120ms`, `8s`, `6m0s`. */
export function formatDuration(seconds: number): string {
  if (seconds <= 0) return "0s";
  if (seconds < 1) return `${Math.ceil(seconds * 1000)}ms`;
  const whole = Math.ceil(seconds);
  return whole < 60 ? `${whole}s` : `${Math.floor(whole / 60)}m${whole % 60}s`;
}
