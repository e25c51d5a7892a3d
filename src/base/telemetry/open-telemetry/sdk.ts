// OpenTelemetry's library, put together: what sends traces and metrics to where the settings say. Imported only where they say
// so (`open-telemetry`): nothing of the library is loaded else.
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  MeterProvider,
  PeriodicExportingMetricReader,
  type ResourceMetrics,
} from "@opentelemetry/sdk-metrics";
import { TracerProvider } from "@opentelemetry/sdk-trace";
import type { Clock } from "../../domain/clock.ts";
import { newUuid } from "../../domain/ids.ts";
import { serviceOf, type Service } from "../../domain/lifecycle.ts";
import type { Logger } from "../logger.ts";
import type { Metrics } from "../metrics.ts";
import type { Telemetry } from "../tracing.ts";
import type { OpenTelemetrySettings } from "./environment.ts";
import { genAiMeter } from "./gen-ai-meter.ts";
import { metricProducer } from "./metric-producer.ts";
import { metricExporter, traceExporter } from "./otlp-exporter.ts";
import { samplerOf, sdkTracing } from "./sdk-tracing.ts";
import { faultOf, sendingWatches, type SendingWatch } from "./sending-watch.ts";
import { SpanQueue } from "./span-queue.ts";

export interface OpenTelemetryDependencies {
  readonly version: string;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/** Sending at a stop may take so long; what is not taken by then is lost. */
const stopMs = 5000;

/** It sends until it is stopped. */
export function startSdk(
  settings: OpenTelemetrySettings,
  dependencies: OpenTelemetryDependencies,
): Telemetry & Service {
  const { version, clock, metrics } = dependencies;
  const urls = { traces: settings.traces?.url ?? null, metrics: settings.metrics?.url ?? null };
  const watches = sendingWatches(dependencies, urls);
  const resource = resourceFromAttributes({
    "service.version": version,
    "service.instance.id": newUuid(),
    ...settings.resource,
  });
  const userAgent = `hone/${version}`;
  const scope = { name: "hone", version };
  const ends: { readonly shutdown: () => Promise<void>; readonly abandon?: () => void }[] = [];

  const startTraces = (): Telemetry["tracing"] => {
    if (settings.traces === null) return null;
    const exporter = traceExporter(settings.traces, userAgent);
    const queue = new SpanQueue({ exporter, settings: settings.queue, clock, watch: watches.traces });
    metrics.gauge({ name: "hone_telemetry_spans_waiting", help: "Spans that wait to be sent." }, () => [
      { value: queue.length },
    ]);
    const provider = new TracerProvider({
      resource,
      sampler: samplerOf(settings.sampler),
      // Some are of clients, such as names of models and paths.
      spanLimits: { attributeValueLengthLimit: 1000 },
      spanProcessors: [queue],
    });
    ends.push({ shutdown: () => provider.shutdown(), abandon: () => queue.abandon() });
    return sdkTracing(provider.getTracer(scope.name, scope.version), clock);
  };

  const startMetrics = (): Telemetry["genAi"] => {
    if (settings.metrics === null) return null;
    const exporter = watched(metricExporter(settings.metrics, userAgent), watches.metrics);
    const { intervalMs, timeoutMs } = settings.metrics;
    const reader = new PeriodicExportingMetricReader({
      exporter,
      exportIntervalMillis: intervalMs,
      exportTimeoutMillis: Math.min(timeoutMs, intervalMs),
      metricProducers: [metricProducer(metrics, clock, scope)],
    });
    const provider = new MeterProvider({ resource, readers: [reader] });
    ends.push({ shutdown: () => provider.shutdown() });
    return genAiMeter(provider.getMeter(scope.name, scope.version));
  };

  const stop = async (): Promise<void> => {
    const late = new AbortController();
    const sent = Promise.allSettled(ends.map(({ shutdown }) => shutdown()));
    await Promise.race([sent, clock.sleep(stopMs, { signal: late.signal }).catch(() => undefined)]);
    late.abort();
    for (const { abandon } of ends) abandon?.();
  };
  return { tracing: startTraces(), genAi: startMetrics(), ...serviceOf("telemetry", { stop }) };
}

/** What an exporter of metrics answers, noted. */
function watched(exporter: ReturnType<typeof metricExporter>, watch: SendingWatch) {
  return {
    export: (batch: ResourceMetrics, done: Parameters<typeof exporter.export>[1]): void =>
      exporter.export(batch, (result) => {
        const fault = faultOf(result);
        if (fault === null) watch.sent();
        else watch.failed(fault, 1);
        // Said above; the library would say it again, on standard error.
        done({ code: 0 });
      }),
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  };
}
