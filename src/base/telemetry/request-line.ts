// The log line for a finished request, and the form that it has on a terminal.

/** Fields of the log line for a finished request. */
export interface RequestLine {
  readonly requestId: string;
  readonly method: string;
  /** Path pattern of the route; `none` if no route matched. */
  readonly route: string;
  /** Status of the answer; 499 if the client disconnected first. */
  readonly status: number;
  readonly durationMs: number;
  readonly keyId: string | null;
  readonly entity: string | null;
  /** Address of the client; null if the connection was closed before the server could read it. */
  readonly address: string | null;
  /** Id of the request's trace; absent unless traces are sent. */
  readonly traceId?: string | undefined;
  /** Model that answered. It and the token counts are absent if no model answered. */
  readonly model?: string;
  readonly promptTokens?: number;
  readonly completionTokens?: number;
}

/** Message that all of these log lines have. */
export const requestMessage = "request answered";

/**
 * Formats a request as text: method, route, model, numbers of prompt and answer tokens, tokens per second over the
 * whole request, status and duration.
 */
export function formatRequest(line: RequestLine): string {
  const { method, route, model, promptTokens = 0, completionTokens = 0, status, durationMs } = line;
  const parts = [`${method.padEnd(4)} ${route}`];
  if (model !== undefined) {
    parts.push(model, `${count(promptTokens)} → ${count(completionTokens)} tokens`);
    if (completionTokens > 0 && durationMs > 0)
      parts.push(`${rate(completionTokens / (durationMs / 1000))} tok/s`);
  }
  return [...parts, status === 499 ? "499 (client left)" : String(status), duration(durationMs)].join("  ");
}

function count(value: number): string {
  return value.toLocaleString("en-US");
}

function rate(perSecond: number): string {
  return perSecond < 10 ? perSecond.toFixed(1) : count(Math.round(perSecond));
}

function duration(ms: number): string {
  if (ms < 1000) return `${ms < 10 ? ms.toFixed(1) : ms.toFixed(0)} ms`;
  return ms < 60_000
    ? `${(ms / 1000).toFixed(1)} s`
    : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}
