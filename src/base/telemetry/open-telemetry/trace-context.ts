// Reads the header `traceparent` of W3C Trace Context, level 1, and writes it. https://www.w3.org/TR/trace-context/

export interface TraceContext {
  /** Trace id of 32 and span id of 16 hexadecimal digits. Neither consists of zeros only. */
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
}

/** Matches version, trace id, span id and flags. In later versions, further fields may follow after a dash. */
const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Parses the header; returns null if it is malformed, because the standard requires that such a header is ignored. */
export function readTraceparent(text: string): TraceContext | null {
  const [, version, traceId = "", spanId = "", flags = "", more] = form.exec(text) ?? [];
  if (version === undefined || version === "ff" || (version === "00" && more !== undefined)) return null;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function writeTraceparent({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
}
