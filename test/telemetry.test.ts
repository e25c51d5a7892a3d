// Tests the traces and metrics that a running server sends to a collector. A chat is one tree of spans within its
// client's trace, and a job is linked to the request that created it. A missing, slow or broken collector does not
// delay the server.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test, type TestContext } from "node:test";
import { inProof, searchedOf } from "../src/base/domain/testing/search.ts";
import { startOtlpReceiver, type OtlpReceiver, type ReceivedSpan } from "./otlp-receiver.ts";
import {
  call,
  eventually,
  newDataFolder,
  removeDataFolder,
  startServer,
  type RunningServer,
} from "./running-server.ts";
import { finish, model, registerModel } from "./served-jobs.ts";

async function traced(
  t: TestContext,
  environment: Readonly<Record<string, string>> = {},
  flags: readonly string[] = [],
): Promise<{
  readonly server: RunningServer;
  readonly receiver: OtlpReceiver;
  /** Starts another server on the same data after the first one has ended. */
  readonly startNext: () => Promise<RunningServer>;
}> {
  const receiver = await startOtlpReceiver();
  const dataFolder = newDataFolder();
  const start = async (): Promise<RunningServer> => {
    const server = await startServer({
      dataFolder,
      flags: [...model, "--log-format", "json", ...flags],
      environment: {
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        OTEL_BSP_SCHEDULE_DELAY: "50",
        OTEL_METRIC_EXPORT_INTERVAL: "200",
        ...environment,
      },
    });
    t.after(() => server.kill());
    await eventually("the server is up", async () =>
      (await call(server, "GET", "/health")).status === 200 ? true : null,
    );
    return server;
  };
  const server = await start();
  t.after(async () => {
    await receiver.close();
    removeDataFolder(dataFolder);
  });
  return { server, receiver, startNext: start };
}

const secret = "a word that nobody else knows";
const chat = {
  model: "tiny",
  messages: [{ role: "user", content: secret }],
  max_tokens: 5,
  temperature: 0.5,
  n: 2,
};
/** The example in the W3C recommendation: https://www.w3.org/TR/trace-context/ */
const remote = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7" };
const headers = { traceparent: `00-${remote.traceId}-${remote.spanId}-01` };

/** Waits until a trace has a span with this name; returns the trace's spans. */
function traceWith(
  { spans }: OtlpReceiver,
  name: string,
  traceId?: string,
): Promise<readonly ReceivedSpan[]> {
  return eventually(name, async () => {
    const named = spans.find((span) => span.name === name && (traceId ?? span.traceId) === span.traceId);
    return named === undefined ? null : spans.filter((span) => span.traceId === named.traceId);
  });
}

function childrenOf(spans: readonly ReceivedSpan[], parent: ReceivedSpan): readonly ReceivedSpan[] {
  const children = spans.filter(({ parentId }) => parentId === parent.spanId);
  for (const { name, startNs, endNs } of children)
    assert.ok(
      startNs >= parent.startNs && endNs <= parent.endNs && startNs <= endNs,
      `${name} in ${parent.name}`,
    );
  return children.toSorted((one, other) => Number(one.startNs - other.startNs));
}

/** Checks that each span begins when the previous one ends. */
function checkFollow(spans: readonly ReceivedSpan[]): void {
  for (const [index, { name, startNs }] of spans.entries())
    if (index > 0) assert.equal(startNs, spans[index - 1]?.endNs, name);
}

/** Within one trace, requests answers and creates a job from them; returns the job's id. */
async function makeJob(server: RunningServer): Promise<string> {
  const modelId = await registerModel(server, "traced");
  const question = { role: "user", content: "go on" };
  const rolled = await call(server, "POST", "/v1/chat/completions", {
    body: { model: modelId, messages: [question], n: 4, max_tokens: 100, seed: 1 },
  });
  const trajectories = rolled.body.choices.map((choice: unknown, index: number) => ({
    messages_and_choices: [question, choice],
    reward: index,
  }));
  const made = await call(server, "POST", "/v1/preview/training-jobs", {
    body: { model_id: modelId, trajectory_groups: [{ trajectories }] },
    headers: { ...headers, "x-request-id": "made-it" },
  });
  assert.equal(made.status, 200, JSON.stringify(made.body));
  return made.body.id;
}

test("the server sends metrics, and a trace of each chat, refused request and job", async (t) => {
  const environment = {
    OTEL_SERVICE_NAME: "answers",
    OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
    OTEL_EXPORTER_OTLP_HEADERS: "api-key=k%3D1",
    OTEL_EXPORTER_OTLP_COMPRESSION: "gzip",
  };
  const { server, receiver } = await traced(t, environment, ["--training-batch-tokens", "750"]);
  const answered = await call(server, "POST", "/v1/chat/completions", { body: chat, headers });
  assert.equal(answered.status, 200, JSON.stringify(answered.body));

  await t.test(
    "a chat is one tree of spans in its client's trace, named by the conventions, without the chat's content",
    async () => {
      const spans = await traceWith(receiver, "POST /v1/chat/completions", remote.traceId);
      const [root, ...others] = spans.filter(({ parentId }) => parentId === remote.spanId);
      assert.deepEqual([others, root?.kind, root?.status], [[], 2, 0]);
      assert.ok(root !== undefined);
      assert.equal(root.attributes["http.response.status_code"], 200);
      assert.equal(root.attributes["http.route"], "/v1/chat/completions");
      const [generation, ...more] = childrenOf(spans, root);
      assert.ok(generation !== undefined && more.length === 0);
      assert.equal(generation.name, "chat tiny");
      const { usage, choices, id } = answered.body;
      const { attributes } = generation;
      const expected = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "hone",
        "gen_ai.request.model": "tiny",
        "gen_ai.request.choice.count": 2,
        "gen_ai.request.max_tokens": 5,
        "gen_ai.request.temperature": 0.5,
        "gen_ai.usage.input_tokens": usage.prompt_tokens,
        "gen_ai.usage.output_tokens": usage.completion_tokens,
        "gen_ai.response.finish_reasons": choices.map(
          (choice: { finish_reason: string }) => choice.finish_reason,
        ),
      };
      for (const [name, value] of Object.entries(expected)) assert.deepEqual(attributes[name], value, name);
      assert.ok(String(id).endsWith(String(attributes["gen_ai.response.id"])));
      const parts = childrenOf(spans, generation);
      assert.deepEqual(
        parts.map(({ name }) => name),
        ["model", "prompt", "queue", "prefill", "decode"],
      );
      checkFollow(parts);
      assert.equal(parts[0]?.startNs, generation.startNs);
      assert.equal(parts.at(-1)?.endNs, generation.endNs);
      assert.equal(spans.length, 7, "and no other");
      assert.equal(root.resource["service.name"], "answers");
      assert.equal(root.resource["deployment.environment.name"], "test");
      for (const { headers: sent, body } of receiver.requests) {
        assert.equal(sent["api-key"], "k=1");
        for (const text of [secret, choices[0].message.content].filter(({ length }) => length > 8))
          assert.ok(!body.includes(text));
      }
    },
  );

  await t.test(
    "exported metrics are those of /metrics and of the conventions, and agree with the client's counts",
    async () => {
      const { usage } = answered.body;
      const duration = await eventually("a request is measured", async () => {
        return receiver.metrics.get("gen_ai.server.request.duration") ?? null;
      });
      assert.deepEqual([duration.kind, duration.unit, duration.points[0]?.count], ["histogram", "s", 1]);
      const tokens = receiver.metrics.get("gen_ai.client.token.usage")?.points ?? [];
      assert.deepEqual(
        tokens.map(({ attributes, value }) => [attributes["gen_ai.token.type"], value]),
        [
          ["input", usage.prompt_tokens],
          ["output", usage.completion_tokens],
        ],
      );
      for (const name of ["time_to_first_token", "time_per_output_token"])
        assert.equal(receiver.metrics.get(`gen_ai.server.${name}`)?.points[0]?.count, 1, name);
      const own = receiver.metrics.get("hone_chat_first_output_seconds");
      const [point] = own?.points ?? [];
      assert.ok(own !== undefined && point !== undefined);
      assert.deepEqual(
        [own.kind, own.unit, point.count, point.attributes],
        ["histogram", "s", 1, { base: "tiny" }],
      );
      assert.equal(point.bucketCounts.length, point.bounds.length + 1);
      assert.equal(
        point.bucketCounts.reduce((one, other) => one + other),
        1,
      );
      assert.equal(receiver.metrics.get("hone_chat_requests_total")?.kind, "sum");
      assert.equal(receiver.metrics.get("hone_engine_ready")?.points[0]?.value, 1);
      assert.ok(![...receiver.metrics.keys()].some((name) => name.startsWith("vllm:")));
    },
  );

  await t.test(
    "a refused request is a separate trace with its error, and a request that its client does not sample has none",
    async () => {
      const unsampled = "4bf92f3577b34da6a3ce929d0e0e4737";
      await call(server, "POST", "/v1/chat/completions", {
        body: chat,
        headers: { traceparent: `00-${unsampled}-${remote.spanId}-00` },
      });
      const refused = await call(server, "POST", "/v1/chat/completions", {
        body: { ...chat, model: "none" },
      });
      assert.equal(refused.status, 404);
      const spans = await traceWith(receiver, "chat");
      const generation = spans.find(({ name }) => name === "chat");
      assert.deepEqual([generation?.attributes["error.type"], generation?.status], ["not_found", 2]);
      assert.ok(receiver.spans.every(({ traceId }) => traceId !== unsampled));
      assert.ok(receiver.spans.every(({ name }) => !name.includes("/health")));
    },
  );

  await t.test(
    "a job's trace is linked to the request that created it, and contains the job's phases in sequence",
    async () => {
      const jobId = await makeJob(server);
      await finish(server, jobId);
      const submission = "POST /v1/preview/training-jobs";
      const [asked] = (await traceWith(receiver, submission)).filter(
        ({ name, parentId }) => name === submission && parentId === remote.spanId,
      );
      const spans = await traceWith(receiver, "train rl");
      const [job] = spans.filter(({ parentId }) => parentId === "");
      assert.ok(job !== undefined);
      const links = [{ traceId: remote.traceId, spanId: asked?.spanId }];
      assert.deepEqual([job.kind, job.status, job.links], [5, 0, links]);
      const expected = {
        "hone.job.id": jobId,
        "hone.job.ending": "succeeded",
        "hone.request_id": "made-it",
      };
      for (const [name, value] of Object.entries(expected)) assert.equal(job.attributes[name], value, name);
      const parts = childrenOf(spans, job);
      assert.deepEqual(
        parts.map(({ name }) => name),
        ["claim", "sequences", "steps", "publish"],
      );
      checkFollow(parts);
      const steps = childrenOf(spans, parts[2] ?? job);
      assert.ok(steps.length > 0);
      assert.deepEqual(
        steps.map(({ name, attributes }) => [name, attributes["hone.job.step"]]),
        steps.map((_, index) => ["step", index]),
      );
    },
  );
});

test("a job that another server resumes is still linked to its request", inProof, async (t) => {
  const { server, receiver, startNext } = await traced(t, {}, ["--log-level", "info"]);
  const jobId = await makeJob(server);
  assert.equal(await server.terminate(), 0);
  const next = await startNext();
  await finish(next, jobId);
  const jobs = await eventually("the next server's attempt is sent", async () => {
    const all = receiver.spans.filter(({ name }) => name === "train rl");
    return all.some(({ attributes }) => attributes["hone.job.ending"] === "succeeded") ? all : null;
  });
  for (const { links } of jobs)
    assert.deepEqual(
      links.map(({ traceId }) => traceId),
      [remote.traceId],
    );
  const lines = `${server.output()}\n${next.output()}`
    .split("\n")
    .filter((text) => text.includes("attempt over"));
  assert.ok(
    lines.length > 0 && lines.every((text) => text.includes('"requestId":"made-it"')),
    lines.join("\n"),
  );
});

test("pending telemetry is sent when the server stops, also as JSON", async (t) => {
  const { server, receiver } = await traced(t, {
    OTEL_BSP_SCHEDULE_DELAY: "600000",
    OTEL_METRICS_EXPORTER: "none",
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
  });
  await call(server, "POST", "/v1/chat/completions", { body: chat, headers });
  assert.equal(receiver.requests.length, 0);
  assert.equal(await server.terminate(), 0);
  assert.ok(
    receiver.spans.some(
      ({ name, parentId }) => name === "POST /v1/chat/completions" && parentId === remote.spanId,
    ),
  );
  assert.deepEqual(new Set(receiver.requests.map(({ path }) => path)), new Set(["/v1/traces"]));
});

const collectors: readonly [string, OtlpReceiver["answer"]][] = [
  ["refuses", (response) => void response.writeHead(400).end()],
  ["sends garbage", (response) => void response.socket?.end("\0rubbish\r\n\r\n")],
  ["never answers", () => undefined],
];

for (const [name, answer] of searchedOf(collectors, 1))
  test(`a collector that ${name} only loses spans, which are counted`, async (t) => {
    const environment = {
      OTEL_BSP_MAX_QUEUE_SIZE: "8",
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "4",
      OTEL_EXPORTER_OTLP_TIMEOUT: "500",
      OTEL_METRICS_EXPORTER: "none",
    };
    const { server, receiver } = await traced(t, environment, ["--log-level", "info"]);
    receiver.answer = answer;
    for (let seed = 0; seed < 4; seed++) {
      const { status } = await call(server, "POST", "/v1/chat/completions", { body: { ...chat, seed } });
      assert.equal(status, 200);
    }
    await eventually("spans are lost", async () => {
      const text = await (await fetch(`${server.url}/metrics`)).text();
      return /^hone_telemetry_lost_total\{signal="traces"\} [1-9]/m.test(text) ? text : null;
    });
    receiver.answer = null;
    await eventually("spans are taken again", async () => {
      await call(server, "POST", "/v1/chat/completions", { body: chat });
      return server.output().includes("telemetry is sent again") ? true : null;
    });
    assert.equal(await server.terminate(), 0);
    assert.equal(server.output().split("telemetry cannot be sent").length, 2, server.output());
  });

test("a stopping server gives up on a collector that never answers", inProof, async (t) => {
  const { server, receiver } = await traced(t, { OTEL_EXPORTER_OTLP_TIMEOUT: "600000" });
  receiver.answer = () => undefined;
  await call(server, "POST", "/v1/chat/completions", { body: chat });
  assert.equal(await server.terminate(), 0);
});

test("without an endpoint, loads nothing of OpenTelemetry except the parts that the metrics library imports", () => {
  const script = `
    const { createRequire } = await import("node:module");
    const { cache } = createRequire(process.cwd() + "/");
    const count = () => Object.keys(cache).filter((path) => /@opentelemetry[^a-z](?!api[^a-z-])/.test(path)).length;
    const { startOpenTelemetry } = await import("./dist/src/base/telemetry/open-telemetry/open-telemetry.js");
    const { readConfig } = await import("./dist/src/apps/server/config.js");
    await import("./dist/src/apps/server/server.js");
    const { createMetrics } = await import("./dist/src/base/telemetry/metrics.js");
    const { systemClock } = await import("./dist/src/base/domain/clock.js");
    const { silentLogger } = await import("./dist/src/base/telemetry/testing/silent-logger.js");
    const dependencies = { version: "1", clock: systemClock, metrics: createMetrics({ processMetrics: false }), logger: silentLogger };
    await startOpenTelemetry(readConfig({}, {}).openTelemetry, dependencies);
    const off = count();
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" };
    const on = await startOpenTelemetry(readConfig({}, environment).openTelemetry, dependencies);
    console.log(off, count() > 0);
    process.exit();`;
  const printed = execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
  assert.equal(printed.trim(), "0 true");
});
