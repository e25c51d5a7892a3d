// Valid requests to routes that take traces and scores of other tools, and to the route that makes training files from
// traces.
import { readFileSync } from "node:fs";
import { ingestionBodySchema, scoreSchema } from "../../src/api/wire/langfuse/score.ts";
import { exportBodySchema } from "../../src/api/wire/otlp/export-answer.ts";
import { datasetForm } from "../../src/api/wire/traces/dataset-request.ts";
import { requestsOf, type ValidRequest } from "./valid-request.ts";

const [get, post] = [requestsOf("GET"), requestsOf("POST")];

const score = {
  id: "s",
  traceId: "1".repeat(32),
  observationId: "2".repeat(16),
  name: "quality",
  value: 0.5,
  dataType: "NUMERIC",
  comment: "fine",
  metadata: { a: [1] },
  environment: "test",
};

const exported = JSON.parse(readFileSync("test/fixtures/otlp/ai-sdk-7.json", "utf8")) as object;
const encoded = readFileSync("test/fixtures/otlp/ai-sdk-7-legacy.pb");

export function traceRequests(): readonly ValidRequest[] {
  const basic = { scheme: "Basic" } as const;
  const span = {
    traceId: "1".repeat(32),
    spanId: "2".repeat(16),
    parentSpanId: "",
    name: "s",
    kind: 1,
    startTimeUnixNano: "1795998899815000000",
    endTimeUnixNano: "1795998899815000000",
    attributes: [
      { key: "gen_ai.usage.input_tokens", value: { intValue: "3" } },
      { key: "x", value: { arrayValue: { values: [{ doubleValue: 1.5 }, { boolValue: true }] } } },
    ],
    events: [{ name: "e", timeUnixNano: "1795998899815000000", attributes: [] }],
    status: { code: 2, message: "it broke" },
  };
  const small = { resourceSpans: [{ resource: { attributes: [] }, scopeSpans: [{ spans: [span] }] }] };
  const schema = { schema: exportBodySchema };
  const protobuf = { headers: { "content-type": "application/x-protobuf" } };
  return [
    ...["/v1/traces", "/api/public/otel/v1/traces"].flatMap((path) => [
      post(path, schema, small, { headers: { "x-hone-project": "fuzzed" } }),
      post(path, schema, exported, basic),
      post(path, {}, encoded, protobuf),
    ]),
    get("/api/public/projects", {}, undefined, basic),
    post("/api/public/scores", { schema: scoreSchema }, score, basic),
    post(
      "/api/public/ingestion",
      { schema: ingestionBodySchema },
      { batch: [{ id: "e", type: "score-create", timestamp: "2026-11-30T00:00:00Z", body: score }] },
      basic,
    ),
    ...["supervised", "distillation", "preference"].map((kind, index) =>
      post("/v1/preview/projects/local/p/datasets/from-traces", datasetForm, {
        kind,
        ops: ["f"],
        started_from: "2026-01-01T00:00:00Z",
        score: { name: "quality", min: 0.1 },
        limit: 5,
        dry_run: index > 0,
      }),
    ),
  ];
}
