// Sends one signal to a collector by OTLP over HTTP: the library's exporter, told all that it would else read from the
// environment itself.
import { readFileSync, statSync } from "node:fs";
import { OTLPExporterBase } from "@opentelemetry/otlp-exporter-base";
import {
  createOtlpHttpExportDelegate,
  httpAgentFactoryFromOptions,
} from "@opentelemetry/otlp-exporter-base/node-http";
import {
  JsonMetricsSerializer,
  JsonTraceSerializer,
  MetricsExporterMetricsHelper,
  ProtobufMetricsSerializer,
  ProtobufTraceSerializer,
  TraceExporterMetricsHelper,
} from "@opentelemetry/otlp-transformer";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import type { ResourceMetrics } from "@opentelemetry/sdk-metrics";
import { requirePlainFile } from "../../domain/obstacles/plain-file.ts";
import type { OtlpTarget } from "./environment.ts";

export function traceExporter(target: OtlpTarget, userAgent: string): OTLPExporterBase<ReadableSpan[]> {
  const serializer = target.protocol === "http/json" ? JsonTraceSerializer : ProtobufTraceSerializer;
  const options = optionsOf(target, userAgent);
  return new OTLPExporterBase(
    createOtlpHttpExportDelegate(
      options,
      serializer,
      "otlp_http_span_exporter",
      TraceExporterMetricsHelper,
      undefined,
    ),
  );
}

export function metricExporter(target: OtlpTarget, userAgent: string): OTLPExporterBase<ResourceMetrics> {
  const serializer = target.protocol === "http/json" ? JsonMetricsSerializer : ProtobufMetricsSerializer;
  const options = optionsOf(target, userAgent);
  return new OTLPExporterBase(
    createOtlpHttpExportDelegate(
      options,
      serializer,
      "otlp_http_metric_exporter",
      MetricsExporterMetricsHelper,
      undefined,
    ),
  );
}

function optionsOf({ url, headers, timeoutMs, isCompressed, protocol, tls }: OtlpTarget, userAgent: string) {
  const type = protocol === "http/json" ? "application/json" : "application/x-protobuf";
  const pem = (path: string | null): Buffer | undefined => {
    if (path === null) return undefined;
    requirePlainFile(path, statSync(path));
    return readFileSync(path);
  };
  return {
    url,
    headers: () => Promise.resolve({ ...headers, "Content-Type": type }),
    timeoutMillis: timeoutMs,
    // One batch at a time: a second would be in memory as well.
    concurrencyLimit: 1,
    compression: isCompressed ? ("gzip" as const) : ("none" as const),
    agentFactory: httpAgentFactoryFromOptions({
      keepAlive: true,
      ca: pem(tls.ca),
      cert: pem(tls.cert),
      key: pem(tls.key),
    }),
    userAgent,
  };
}
