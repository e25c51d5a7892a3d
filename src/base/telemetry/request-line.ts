// The log line written for each request, and its format on a terminal.

/** Fields of a finished request. */
export interface RequestLine {
  readonly requestId: string;
  readonly method: string;
  /** Pattern of the route; `none` if no route matched. */
  readonly route: string;
  /** Status of the response; 499 if the client disconnected first. */
  readonly status: number;
  readonly durationMs: number;
  readonly keyId: string | null;
  readonly entity: string | null;
  /** Address of the client; null if the connection was closed before it could be read. */
  readonly address: string | null;
  /** Id of the request's trace; present if traces are sent. */
  readonly traceId?: string | undefined;
  /** Model and tokens of the answer so far; absent if no model answered. */
  readonly model?: string;
  readonly promptTokens?: number;
  readonly completionTokens?: number;
}

/** Message of all request lines. */
export const requestMessage = "request answered";

/** Formats method, route, model, input and output tokens, tokens per second over the whole request, status and time. */
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
