// The variables of OpenTelemetry's specification: what they say by themselves, for one signal and for all, and what is refused.
// https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/, …/protocol/exporter/
import assert from "node:assert/strict";
import { test } from "node:test";
import { present } from "../../domain/assert.ts";
import { readOpenTelemetry } from "./environment.ts";

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" };
const read = (environment: Readonly<Record<string, string>> = {}) =>
  present(readOpenTelemetry({ ...endpoint, ...environment }), "an endpoint is set");

test("nothing is sent unless an endpoint is set", () => {
  assert.equal(readOpenTelemetry({}), null);
  assert.equal(readOpenTelemetry({ OTEL_EXPORTER_OTLP_ENDPOINT: " " }), null);
  assert.equal(readOpenTelemetry({ ...endpoint, OTEL_SDK_DISABLED: "TRUE" }), null);
  const none = { OTEL_TRACES_EXPORTER: "none", OTEL_METRICS_EXPORTER: "none" };
  assert.equal(readOpenTelemetry({ ...endpoint, ...none }), null);
});

test("an endpoint alone has everything at the specification's defaults", () => {
  const { traces, metrics, ...rest } = read();
  const target = {
    headers: {},
    timeoutMs: 10_000,
    isCompressed: false,
    protocol: "http/protobuf",
    tls: { ca: null, cert: null, key: null },
  };
  assert.deepEqual(traces, { ...target, url: "http://collector:4318/v1/traces" });
  assert.deepEqual(metrics, { ...target, url: "http://collector:4318/v1/metrics", intervalMs: 60_000 });
  assert.deepEqual(rest, {
    resource: { "service.name": "hone" },
    sampler: { ratio: 1, isParentBased: true },
    queue: { countMax: 2048, batchMax: 512, delayMs: 5000 },
  });
});

test("an endpoint may have a path; one of a signal is the whole address", () => {
  const shared = { OTEL_EXPORTER_OTLP_ENDPOINT: "https://host/otlp/" };
  const own = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://other:1/in" };
  const { traces, metrics } = read({ ...shared, ...own });
  assert.deepEqual([traces?.url, metrics?.url], ["http://other:1/in", "https://host/otlp/v1/metrics"]);
  assert.equal(readOpenTelemetry(own)?.metrics, null);
});

test("what is said of one signal goes before what is said of all", () => {
  const { traces, metrics } = read({
    OTEL_EXPORTER_OTLP_HEADERS: "api-key=k%3D%2C1,other=2",
    OTEL_EXPORTER_OTLP_METRICS_HEADERS: "api-key=m",
    OTEL_EXPORTER_OTLP_TIMEOUT: "500",
    OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: "700",
    OTEL_EXPORTER_OTLP_COMPRESSION: "gzip",
    OTEL_EXPORTER_OTLP_METRICS_COMPRESSION: "none",
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http/json",
    OTEL_EXPORTER_OTLP_CERTIFICATE: "ca.pem",
  });
  assert.deepEqual(traces?.headers, { "api-key": "k=,1", other: "2" });
  assert.deepEqual(metrics?.headers, { "api-key": "m" });
  assert.deepEqual([traces?.timeoutMs, metrics?.timeoutMs], [700, 500]);
  assert.deepEqual([traces?.isCompressed, metrics?.isCompressed], [true, false]);
  assert.deepEqual([traces?.protocol, metrics?.protocol], ["http/json", "http/protobuf"]);
  assert.equal(traces?.tls.ca, "ca.pem");
});

test("the service's name goes before the resource's attributes", () => {
  const attributes = { OTEL_RESOURCE_ATTRIBUTES: "service.name=a,deployment.environment.name=prod%20eu" };
  assert.deepEqual(read(attributes).resource, {
    "service.name": "a",
    "deployment.environment.name": "prod eu",
  });
  assert.equal(read({ ...attributes, OTEL_SERVICE_NAME: "b" }).resource["service.name"], "b");
});

test("each sampler by its name", () => {
  const table = [
    ["always_on", "0.5", 1, false],
    ["always_off", "0.5", 0, false],
    ["traceidratio", "0.5", 0.5, false],
    ["parentbased_always_on", "0.5", 1, true],
    ["parentbased_always_off", "0.5", 0, true],
    ["parentbased_traceidratio", "0.25", 0.25, true],
    ["parentbased_traceidratio", "", 1, true],
  ] as const;
  for (const [name, argument, ratio, isParentBased] of table) {
    const environment = { OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: argument };
    assert.deepEqual(read(environment).sampler, { ratio, isParentBased }, name);
  }
});

test("what is wrong or cannot be done is refused by name, without secrets", () => {
  const table: readonly (readonly [string, string, RegExp])[] = [
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317", /ENDPOINT is "collector:4317"; .* http:\/\//],
    ["OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", /PROTOCOL is "grpc"; .*http\/protobuf.*4318/],
    ["OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "grpc", /METRICS_PROTOCOL is "grpc"/],
    ["OTEL_EXPORTER_OTLP_COMPRESSION", "zstd", /gzip or none/],
    ["OTEL_EXPORTER_OTLP_TIMEOUT", "soon", /TIMEOUT is "soon"; .*between 1 and 600000/],
    ["OTEL_EXPORTER_OTLP_HEADERS", "my secret", /HEADERS holds a part that is not name=value/],
    ["OTEL_EXPORTER_OTLP_HEADERS", "key=%zz", /HEADERS holds a part/],
    ["OTEL_RESOURCE_ATTRIBUTES", "=1", /RESOURCE_ATTRIBUTES holds a part/],
    ["OTEL_TRACES_EXPORTER", "console", /otlp or none/],
    ["OTEL_TRACES_SAMPLER", "toString", /one of always_on/],
    ["OTEL_BSP_MAX_QUEUE_SIZE", "0", /between 1 and 1000000/],
    ["OTEL_METRIC_EXPORT_INTERVAL", "1", /between 100 and/],
  ];
  for (const [name, value, message] of table)
    assert.throws(
      () => read({ [name]: value }),
      (error: Error) => {
        assert.match(error.message, message);
        assert.ok(!error.message.includes("my secret"));
        return true;
      },
    );
  const ratio = { OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "2" };
  assert.throws(() => read(ratio), /OTEL_TRACES_SAMPLER_ARG is "2"; .*between 0 and 1/);
});
