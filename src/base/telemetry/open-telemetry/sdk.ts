// Sets up OpenTelemetry's SDK, which sends traces and metrics as the environment says. The module `open-telemetry`
// imports this one only if an endpoint is set, because the SDK takes time to load.
import { diag, DiagLogLevel } from "@opentelemetry/api";
import { detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import type { Clock } from "../../domain/clock.ts";
import { newUuid } from "../../domain/random.ts";
import { serviceOf, type Service } from "../../domain/lifecycle.ts";
import type { Telemetry } from "../tracing.ts";
import type { OpenTelemetrySettings } from "./environment.ts";
import { createExporters, type ExporterDependencies } from "./exporters.ts";
import { genAiMeter } from "./gen-ai-meter.ts";
import { metricProducer } from "./metric-producer.ts";
import { samplerOf, sdkTracing } from "./sdk-tracing.ts";

export interface OpenTelemetryDependencies extends ExporterDependencies {
  readonly clock: Clock;
}

/**
 * Maximum time in milliseconds for sending waiting data at a stop. Data that the collector has not accepted by then is
 * lost.
 */
const stopMs = 5000;

/** Starts the SDK, which sends until it is stopped. */
export function startSdk(
  settings: OpenTelemetrySettings,
  dependencies: OpenTelemetryDependencies,
): Telemetry & Service {
  const { version, clock, metrics, logger } = dependencies;
  const ignore = (): void => undefined;
  const warn = (message: string): void => logger.warn({}, message);
  // Logs the SDK's warnings about variables. Later failures are reported by the exporters.
  diag.setLogger({ error: warn, warn, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.WARN);
  const exporters = createExporters(dependencies);
  const resource = resourceFromAttributes({
    "service.name": "hone",
    "service.version": version,
    "service.instance.id": newUuid(),
  }).merge(detectResources({ detectors: [envDetector] }));
  const scope = { name: "hone", version };
  const providers: { shutdown(): Promise<void> }[] = [];

  const startTraces = (): Telemetry["tracing"] => {
    if (settings.traces === null) return null;
    const processor = new BatchSpanProcessor({
      exporter: exporters.traces(settings.traces),
      ...settings.queue,
    });
    const provider = new TracerProvider({
      resource,
      sampler: samplerOf(settings.sampler),
      // The length of attributes is limited, because some come from clients, such as names of models and paths.
      spanLimits: { attributeValueLengthLimit: 1000 },
      spanProcessors: [processor],
    });
    providers.push(provider);
    return sdkTracing(provider.getTracer(scope.name, scope.version), clock);
  };

  const startMetrics = (): Telemetry["genAi"] => {
    if (settings.metrics === null) return null;
    const reader = new PeriodicExportingMetricReader({
      exporter: exporters.metrics(settings.metrics),
      exportIntervalMillis: settings.metricsIntervalMs,
      metricProducers: [metricProducer(metrics, clock, scope)],
    });
    const provider = new MeterProvider({ resource, readers: [reader] });
    providers.push(provider);
    return genAiMeter(provider.getMeter(scope.name, scope.version));
  };

  const stop = async (): Promise<void> => {
    const late = new AbortController();
    const sent = Promise.allSettled(providers.map((provider) => provider.shutdown()));
    await Promise.race([sent, clock.sleep(stopMs, { signal: late.signal }).catch(() => undefined)]);
    late.abort();
  };
  const telemetry = { tracing: startTraces(), genAi: startMetrics() };
  diag.disable();
  return { ...telemetry, ...serviceOf("telemetry", { stop }) };
}
