// Tests of the variables of OpenTelemetry's specification that Hone reads itself, and of refused values.
// https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/, …/protocol/exporter/
import assert from "node:assert/strict";
import { test } from "node:test";
import { ROOT_CONTEXT, trace, type Context } from "@opentelemetry/api";
import { SamplingDecision } from "@opentelemetry/sdk-trace";
import { present } from "../../domain/assert.ts";
import { readOpenTelemetry } from "./environment.ts";
import { samplerOf } from "./sdk-tracing.ts";

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" };
const read = (environment: Readonly<Record<string, string>> = {}) =>
  present(readOpenTelemetry({ ...endpoint, ...environment }), "an endpoint is set");

test("sends nothing unless an endpoint is set", () => {
  assert.equal(readOpenTelemetry({}), null);
  assert.equal(readOpenTelemetry({ OTEL_EXPORTER_OTLP_ENDPOINT: " " }), null);
  assert.equal(readOpenTelemetry({ ...endpoint, OTEL_SDK_DISABLED: "TRUE" }), null);
  const none = { OTEL_TRACES_EXPORTER: "none", OTEL_METRICS_EXPORTER: "none" };
  assert.equal(readOpenTelemetry({ ...endpoint, ...none }), null);
});

test("uses the specification's defaults if only an endpoint is set", () => {
  assert.deepEqual(read(), {
    traces: "http/protobuf",
    metrics: "http/protobuf",
    metricsIntervalMs: 60_000,
    sampler: { name: "parentbased_always_on", ratio: 1 },
    queue: {
      maxQueueSize: 2048,
      maxExportBatchSize: 512,
      scheduledDelayMillis: 5000,
      exportTimeoutMillis: 30_000,
    },
  });
});

test("prefers a signal's own variable over the one for all signals", () => {
  const own = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://other:1/in" };
  assert.equal(readOpenTelemetry(own)?.traces, "http/protobuf");
  assert.equal(readOpenTelemetry(own)?.metrics, null);
  const { traces, metrics } = read({ OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http/json" });
  assert.deepEqual([traces, metrics], ["http/json", "http/protobuf"]);
  const unused = { OTEL_EXPORTER_OTLP_PROTOCOL: "grpc", OTEL_METRICS_EXPORTER: "none" };
  assert.equal(read({ ...unused, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http/json" }).traces, "http/json");
});

test("selects each sampler by its name", () => {
  const sampled = (name: string, argument: string, parent: Context = ROOT_CONTEXT) =>
    samplerOf(read({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: argument }).sampler).shouldSample(
      parent,
      "0af7651916cd43dd8448eb211c80319c",
      "",
      0,
      {},
      [],
    ).decision === SamplingDecision.RECORD_AND_SAMPLED;
  const remote = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", isRemote: true };
  const inTrace = (traceFlags: number) => trace.setSpanContext(ROOT_CONTEXT, { ...remote, traceFlags });
  const table = [
    ["always_on", "0", true, true],
    ["always_off", "1", false, false],
    ["traceidratio", "0", false, false],
    ["traceidratio", "", true, true],
    ["parentbased_always_on", "0", true, false],
    ["parentbased_always_off", "1", false, false],
    ["parentbased_traceidratio", "0", false, false],
    ["parentbased_traceidratio", "1", true, false],
  ] as const;
  for (const [name, argument, isSampled, isSampledInUnsampled] of table) {
    assert.equal(sampled(name, argument), isSampled, name);
    assert.equal(sampled(name, argument, inTrace(0)), isSampledInUnsampled, name);
    const isAlways = name.startsWith("parentbased_") || isSampled;
    assert.equal(sampled(name, argument, inTrace(1)), isAlways, name);
  }
});

test("refuses an invalid or unsupported variable by name", () => {
  const table: readonly (readonly [string, string, RegExp])[] = [
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317", /ENDPOINT is "collector:4317"; .* http:\/\//],
    ["OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", /PROTOCOL is "grpc"; .*http\/protobuf/],
    ["OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "grpc", /METRICS_PROTOCOL is "grpc"/],
    ["OTEL_TRACES_EXPORTER", "console", /one of otlp, none/],
    ["OTEL_TRACES_SAMPLER", "toString", /one of always_on/],
    ["OTEL_BSP_MAX_QUEUE_SIZE", "0", /between 1 and 1000000/],
    ["OTEL_METRIC_EXPORT_INTERVAL", "1", /between 100 and/],
  ];
  for (const [name, value, message] of table) assert.throws(() => read({ [name]: value }), message);
  const ratio = { OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "2" };
  assert.throws(() => read(ratio), /OTEL_TRACES_SAMPLER_ARG is "2"; .*between 0 and 1/);
});
