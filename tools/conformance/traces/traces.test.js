// Sends traces with the AI SDK's telemetry, OpenInference's instrumentation and Langfuse's npm libraries, and reads
// back the stored traces. All of them call a model of the same server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { OpenAIInstrumentation } from "@arizeai/openinference-instrumentation-openai";
import { createOpenAI } from "@ai-sdk/openai";
import { LegacyOpenTelemetry, OpenTelemetry } from "@ai-sdk/otel";
import { LangfuseClient } from "@langfuse/client";
import { observeOpenAI } from "@langfuse/openai";
import { LangfuseSpanProcessor } from "@langfuse/otel";
import { startActiveObservation, startObservation } from "@langfuse/tracing";
import { context, trace } from "@opentelemetry/api";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { NodeSDK } from "@opentelemetry/sdk-node";
import { generateText } from "ai";
import OpenAI from "openai";

const model = "hone-tiny";
const key = process.env.OPENAI_API_KEY;
const question = { role: "user", content: "Where is Paris?" };

async function post(path, body, headers) {
  const url = `${process.env.HONE_URL}${path}`;
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  assert.equal(answer.status, 200);
  return answer.text();
}

/** Sends the remaining spans, and unregisters the SDK globally so that the next test can start another SDK. */
async function end(sdk) {
  await sdk.shutdown();
  trace.disable();
  context.disable();
}

const basic = { authorization: `Basic ${Buffer.from(`api:${key}`).toString("base64")}` };

async function callsOf(project) {
  const text = await post(
    "/calls/stream_query",
    { project_id: `local/${project}`, include_feedback: true },
    basic,
  );
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

function checkChat(call, said) {
  assert.deepEqual(call.inputs.messages.at(-1), question);
  assert.equal(call.inputs.model, model);
  assert.equal(call.output.choices[0].message.content, said);
  assert.ok(call.summary.usage[model].completion_tokens > 0);
}

const exporters = {
  "ai-sdk": () => new ProtobufExporter({ compression: "gzip" }),
  "ai-sdk-legacy": () => new JsonExporter({ compression: "gzip" }),
};
const telemetries = {
  "ai-sdk": () => new OpenTelemetry(),
  "ai-sdk-legacy": () => new LegacyOpenTelemetry(),
};

for (const name of Object.keys(exporters))
  test(`the AI SDK's telemetry (${name})`, async () => {
    const sdk = new NodeSDK({
      serviceName: name,
      instrumentations: [],
      traceExporter: exporters[name](),
    });
    sdk.start();
    const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL, apiKey: key });
    const { text } = await generateText({
      model: openai.chat(model),
      prompt: question.content,
      maxOutputTokens: 8,
      telemetry: { isEnabled: true, integrations: [telemetries[name]()] },
    });
    await end(sdk);
    const calls = await callsOf(name);
    const chats = calls.filter(({ summary }) => summary.usage !== undefined);
    assert.equal(chats.length, 1);
    checkChat(chats[0], text);
    const files = `/v1/preview/projects/local/${name}/datasets/from-traces`;
    const body = { kind: "distillation", dry_run: true };
    const made = JSON.parse(await post(files, body, { authorization: `Bearer ${key}` }));
    // The answer has at most eight tokens, so it may be cut off.
    assert.equal(made.row_count + (made.left_out["the answer was cut off"] ?? 0), 1);
  });

test("OpenInference's instrumentation of openai", async () => {
  const sdk = new NodeSDK({
    serviceName: "openinference",
    instrumentations: [],
    traceExporter: new ProtobufExporter(),
  });
  sdk.start();
  new OpenAIInstrumentation().manuallyInstrument(OpenAI);
  const answer = await new OpenAI().chat.completions.create({ model, messages: [question], max_tokens: 8 });
  await end(sdk);
  const [call] = await callsOf("openinference");
  checkChat(call, answer.choices[0].message.content);
});

test("Langfuse's npm libraries", async () => {
  const sdk = new NodeSDK({
    instrumentations: [],
    spanProcessors: [new LangfuseSpanProcessor({ publicKey: "npm" })],
  });
  sdk.start();
  const langfuse = new LangfuseClient({ publicKey: "npm" });
  const client = observeOpenAI(new OpenAI(), { generationName: "wrapped" });
  let said, generation;
  await startActiveObservation("ask", async () => {
    generation = startObservation("draft", { model: "other", input: [question] }, { asType: "generation" });
    generation.update({ output: { role: "assistant", content: "In France." } }).end();
    const answer = await client.chat.completions.create({ model, messages: [question], max_tokens: 8 });
    said = answer.choices[0].message.content;
  });
  langfuse.score.create({
    traceId: generation.traceId,
    observationId: generation.id,
    name: "quality",
    value: 1,
  });
  await langfuse.flush();
  await end(sdk);
  const calls = await callsOf("npm");
  assert.deepEqual(new Set(calls.map(({ op_name: name }) => name)), new Set(["ask", "draft", "wrapped"]));
  checkChat(
    calls.find(({ op_name: name }) => name === "wrapped"),
    said,
  );
  const { summary } = calls.find(({ op_name: name }) => name === "draft");
  assert.deepEqual(
    summary.weave.feedback.map(({ payload }) => payload.value),
    [1],
  );
});
