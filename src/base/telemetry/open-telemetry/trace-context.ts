// Reads and writes the header `traceparent` of W3C Trace Context, level 1. https://www.w3.org/TR/trace-context/

export interface TraceContext {
  /** 32 and 16 hexadecimal digits, neither all zeros. */
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
}

/** Version, trace, parent, flags; later versions may append fields after a dash. */
const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Returns null for a malformed header, because the standard requires that it is ignored. */
export function readTraceparent(text: string): TraceContext | null {
  const [, version, traceId = "", spanId = "", flags = "", more] = form.exec(text) ?? [];
  if (version === undefined || version === "ff" || (version === "00" && more !== undefined)) return null;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function writeTraceparent({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
}
