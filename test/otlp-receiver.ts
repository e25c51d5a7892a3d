// An OTLP/HTTP collector for tests. Receives exported telemetry, and decodes it by the field numbers in the protocol's
// definition (opentelemetry-proto). Its protobuf reader is independent of the sender's code.
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { BinaryReader } from "@bufbuild/protobuf/wire";

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the root span of a trace. */
  readonly parentId: string;
  readonly name: string;
  readonly kind: number;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  /** Status code; 2 is an error. */
  readonly status: number;
  readonly resource: Readonly<Record<string, unknown>>;
}

export interface ReceivedMetric {
  readonly name: string;
  readonly unit: string;
  readonly kind: "gauge" | "sum" | "histogram";
  readonly points: readonly {
    readonly attributes: Readonly<Record<string, unknown>>;
    /** Value; for a histogram, its sum. */
    readonly value: number;
    /** Count of a histogram; otherwise 0. */
    readonly count: number;
    readonly bucketCounts: readonly number[];
    readonly bounds: readonly number[];
  }[];
}

export interface OtlpReceiver {
  readonly url: string;
  readonly spans: ReceivedSpan[];
  /** Metrics as last sent. */
  readonly metrics: Map<string, ReceivedMetric>;
  /** Received requests, decompressed, with their headers. */
  readonly requests: {
    readonly path: string;
    readonly headers: IncomingMessage["headers"];
    readonly body: Buffer;
  }[];
  /** Sends a response in place of the collector's normal one; null for the normal response. */
  answer: ((response: ServerResponse) => void) | null;
  close(): Promise<void>;
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const receiver: Omit<OtlpReceiver, "url" | "close"> = {
    spans: [],
    metrics: new Map(),
    requests: [],
    answer: null,
  };
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const sent = Buffer.concat(pieces);
      const body = request.headers["content-encoding"] === "gzip" ? gunzipSync(sent) : sent;
      const path = request.url ?? "";
      receiver.requests.push({ path, headers: request.headers, body });
      if (receiver.answer !== null) return receiver.answer(response);
      if (request.headers["content-type"] === "application/json") takeJson(receiver, body.toString());
      else if (path.endsWith("/traces")) receiver.spans.push(...spansOf(body));
      else for (const metric of metricsOf(body)) receiver.metrics.set(metric.name, metric);
      response.writeHead(200, { "content-type": request.headers["content-type"] }).end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return Object.assign(receiver, {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

type Field = (number: number, reader: BinaryReader) => boolean;

/** Decodes a message. Calls `take` for each field; `take` reads the value if it knows the field. */
function readMessage(bytes: Uint8Array, take: Field): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    if (!take(number, reader)) reader.skip(type);
  }
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

/** Calls `take` with each nested message in this field. */
function each(bytes: Uint8Array, field: number, take: (message: Uint8Array) => void): void {
  readMessage(bytes, (number, reader) => {
    if (number !== field) return false;
    take(reader.bytes());
    return true;
  });
}

function anyValue(bytes: Uint8Array): unknown {
  let value: unknown = null;
  readMessage(bytes, (number, reader) => {
    if (number === 1) value = reader.string();
    else if (number === 2) value = reader.bool();
    else if (number === 3) value = Number(reader.int64());
    else if (number === 4) value = reader.double();
    else if (number === 5) {
      const list: unknown[] = [];
      each(reader.bytes(), 1, (item) => list.push(anyValue(item)));
      value = list;
    } else return false;
    return true;
  });
  return value;
}

function takeAttribute(bytes: Uint8Array, into: Record<string, unknown>): void {
  let key = "";
  readMessage(bytes, (number, reader) => {
    if (number === 1) key = reader.string();
    else if (number === 2) into[key] = anyValue(reader.bytes());
    else return false;
    return true;
  });
}

function resourceOf(bytes: Uint8Array): Record<string, unknown> {
  const resource: Record<string, unknown> = {};
  each(bytes, 1, (message) => each(message, 1, (attribute) => takeAttribute(attribute, resource)));
  return resource;
}

/** Parses the spans of an ExportTraceServiceRequest. */
function spansOf(body: Uint8Array): readonly ReceivedSpan[] {
  const spans: ReceivedSpan[] = [];
  each(body, 1, (resourceSpans) => {
    const resource = resourceOf(resourceSpans);
    each(resourceSpans, 2, (scopeSpans) =>
      each(scopeSpans, 2, (span) => spans.push({ ...spanOf(span), resource })),
    );
  });
  return spans;
}

function spanOf(bytes: Uint8Array): Omit<ReceivedSpan, "resource"> {
  const attributes: Record<string, unknown> = {};
  const links: { traceId: string; spanId: string }[] = [];
  const span = {
    traceId: "",
    spanId: "",
    parentId: "",
    name: "",
    kind: 0,
    startNs: 0n,
    endNs: 0n,
    status: 0,
  };
  readMessage(bytes, (number, reader) => {
    if (number === 1) span.traceId = hex(reader.bytes());
    else if (number === 2) span.spanId = hex(reader.bytes());
    else if (number === 4) span.parentId = hex(reader.bytes());
    else if (number === 5) span.name = reader.string();
    else if (number === 6) span.kind = reader.int32();
    else if (number === 7) span.startNs = BigInt(reader.fixed64());
    else if (number === 8) span.endNs = BigInt(reader.fixed64());
    else if (number === 9) takeAttribute(reader.bytes(), attributes);
    else if (number === 13) links.push(linkOf(reader.bytes()));
    else if (number === 15)
      readMessage(reader.bytes(), (field, status) => {
        if (field === 3) span.status = status.int32();
        return field === 3;
      });
    else return false;
    return true;
  });
  return { ...span, attributes, links };
}

function linkOf(bytes: Uint8Array): { readonly traceId: string; readonly spanId: string } {
  const link = { traceId: "", spanId: "" };
  readMessage(bytes, (number, reader) => {
    if (number === 1) link.traceId = hex(reader.bytes());
    else if (number === 2) link.spanId = hex(reader.bytes());
    else return false;
    return true;
  });
  return link;
}

const metricKinds = { 5: "gauge", 7: "sum", 9: "histogram" } as const;

/** Parses the metrics of an ExportMetricsServiceRequest. */
function metricsOf(body: Uint8Array): readonly ReceivedMetric[] {
  const metrics: ReceivedMetric[] = [];
  each(body, 1, (resourceMetrics) =>
    each(resourceMetrics, 2, (scopeMetrics) =>
      each(scopeMetrics, 2, (metric) => metrics.push(metricOf(metric))),
    ),
  );
  return metrics;
}

function metricOf(bytes: Uint8Array): ReceivedMetric {
  const metric = { name: "", unit: "", kind: "gauge" as ReceivedMetric["kind"] };
  const points: ReceivedMetric["points"][number][] = [];
  readMessage(bytes, (number, reader) => {
    if (number === 1) metric.name = reader.string();
    else if (number === 3) metric.unit = reader.string();
    else if (number === 5 || number === 7 || number === 9) {
      const kind = metricKinds[number];
      metric.kind = kind;
      each(reader.bytes(), 1, (point) =>
        points.push(kind === "histogram" ? histogramPoint(point) : numberPoint(point)),
      );
    } else return false;
    return true;
  });
  return { ...metric, points };
}

function numberPoint(bytes: Uint8Array): ReceivedMetric["points"][number] {
  const attributes: Record<string, unknown> = {};
  let value = NaN;
  readMessage(bytes, (number, reader) => {
    if (number === 7) takeAttribute(reader.bytes(), attributes);
    else if (number === 4) value = reader.double();
    else if (number === 6) value = Number(reader.sfixed64());
    else return false;
    return true;
  });
  return { attributes, value, count: 0, bucketCounts: [], bounds: [] };
}

function histogramPoint(bytes: Uint8Array): ReceivedMetric["points"][number] {
  const attributes: Record<string, unknown> = {};
  const point = { value: NaN, count: NaN };
  let [bucketCounts, bounds]: number[][] = [[], []];
  readMessage(bytes, (number, reader) => {
    if (number === 9) takeAttribute(reader.bytes(), attributes);
    else if (number === 4) point.count = Number(reader.fixed64());
    else if (number === 5) point.value = reader.double();
    else if (number === 6)
      bucketCounts = packed(reader.bytes(), (view, at) => Number(view.getBigUint64(at, true)));
    else if (number === 7) bounds = packed(reader.bytes(), (view, at) => view.getFloat64(at, true));
    else return false;
    return true;
  });
  return { ...point, attributes, bucketCounts, bounds };
}

/** Decodes packed numbers of eight bytes each. */
function packed(bytes: Uint8Array, read: (view: DataView, at: number) => number): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: bytes.byteLength / 8 }, (_, index) => read(view, 8 * index));
}

interface JsonSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
}

/** Decodes the protocol's JSON form, but only those fields of spans that tests need. */
function takeJson({ spans }: Pick<OtlpReceiver, "spans">, text: string): void {
  const { resourceSpans = [] } = JSON.parse(text) as {
    readonly resourceSpans?: readonly {
      readonly scopeSpans: readonly { readonly spans: readonly JsonSpan[] }[];
    }[];
  };
  for (const { scopeSpans } of resourceSpans)
    for (const span of scopeSpans.flatMap((scope) => scope.spans)) {
      const { traceId, spanId, parentSpanId = "", name, kind } = span;
      const times = { startNs: BigInt(span.startTimeUnixNano), endNs: BigInt(span.endTimeUnixNano) };
      const rest = { attributes: {}, links: [], status: 0, resource: {} };
      spans.push({ traceId, spanId, parentId: parentSpanId, name, kind, ...times, ...rest });
    }
}
