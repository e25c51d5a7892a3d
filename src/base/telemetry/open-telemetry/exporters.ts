// OpenTelemetry's exporters. They read their address, headers, timeout, compression and certificates from the
// environment. Each exporter logs once when it begins to fail, and once when it works again.
import { OTLPMetricExporter as JsonMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-proto";
import { OTLPTraceExporter as JsonTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import type { ResourceMetrics } from "@opentelemetry/sdk-metrics";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import type { Logger } from "../logger.ts";
import type { Metrics } from "../metrics.ts";
import type { OtlpProtocol } from "./environment.ts";

export interface ExporterDependencies {
  readonly version: string;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

interface Exporter<Items> {
  export(items: Items, done: (result: { readonly code: number; readonly error?: Error }) => void): void;
  forceFlush(): Promise<void>;
  shutdown(): Promise<void>;
}

/**
 * Returns functions that create the exporters. Also registers the exporters' metric, so it must be called only once per
 * registry.
 */
export function createExporters({ version, metrics, logger }: ExporterDependencies): {
  readonly traces: (protocol: OtlpProtocol) => Exporter<ReadableSpan[]>;
  readonly metrics: (protocol: OtlpProtocol) => Exporter<ResourceMetrics>;
} {
  const options = { userAgent: `hone/${version}` };
  const lost = metrics.counter({
    name: "hone_telemetry_lost_total",
    help: "Spans and batches of metrics that the collector did not accept.",
    labels: ["signal"],
    known: [{ signal: "traces" }, { signal: "metrics" }],
  });
  const reported = <Items>(
    signal: string,
    exporter: Exporter<Items>,
    countOf: (items: Items) => number,
  ): Exporter<Items> => {
    let lostCount = 0;
    return {
      export: (items, done) =>
        exporter.export(items, ({ code, error = new Error("not taken") }) => {
          if (code === 0) {
            if (lostCount > 0) logger.info({ signal, lostCount }, "telemetry is sent again");
            lostCount = 0;
          } else {
            // Only name and message of the error are logged, because the whole error contains the collector's answer,
            // which may be anything.
            const reason = `${error.name}: ${error.message}`.slice(0, 200);
            if (lostCount === 0) logger.warn({ signal, reason }, "telemetry cannot be sent");
            lostCount += countOf(items);
            lost.increase({ signal }, countOf(items));
          }
          done({ code: 0 });
        }),
      forceFlush: () => exporter.forceFlush(),
      shutdown: () => exporter.shutdown(),
    };
  };
  return {
    traces: (protocol) =>
      reported(
        "traces",
        protocol === "http/json" ? new JsonTraceExporter(options) : new OTLPTraceExporter(options),
        ({ length }) => length,
      ),
    metrics: (protocol) =>
      reported(
        "metrics",
        protocol === "http/json" ? new JsonMetricExporter(options) : new OTLPMetricExporter(options),
        () => 1,
      ),
  };
}
