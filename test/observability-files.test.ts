// Checks the dashboard and the alert rules with a running server. Each query must use metrics and labels that exist in
// /metrics. If Prometheus' own checker is installed, it must accept the rules and metrics.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { call, serverOfFile } from "./running-server.ts";
import { finish, model, registerModel, submitJob } from "./served-jobs.ts";

const folder = "deploy/observability";
const rulesFile = `${folder}/alerts.yaml`;
const dashboardFile = `${folder}/grafana-dashboard.json`;
const page = "docs/guides/observability.md";
/** Telemetry is sent to an address at which nothing listens, so that the server counts lost telemetry. */
const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" };
const serverOfTests = serverOfFile({ flags: model, environment });
let scraped: Promise<string> | null = null;

/** Returns the output of /metrics after requests of every kind. */
const exposed = (): Promise<string> => (scraped ??= scrape());

async function scrape(): Promise<string> {
  const server = serverOfTests();
  // Counters with a route or status label appear only after their first event.
  const body = { model: "tiny", messages: [{ role: "user", content: "go on" }], max_tokens: 4 };
  await call(server, "POST", "/v1/chat/completions", { body });
  await fetch(`${server.url}/v1/models`, { headers: { authorization: "Bearer unknown" } });
  const modelId = await registerModel(server, "observed");
  await finish(server, await submitJob(server, modelId, 1));
  return (await fetch(`${server.url}/metrics`)).text();
}

interface Query {
  readonly where: string;
  readonly expression: string;
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: Readonly<Record<"x" | "y" | "w" | "h", number>>;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
}

const dashboard = JSON.parse(readFileSync(dashboardFile, "utf8")) as Dashboard;

/** Returns the alerts by name, with expressions of several lines joined. */
function alerts(): readonly { readonly name: string; readonly text: string; readonly expression: string }[] {
  const [, ...parts] = readFileSync(rulesFile, "utf8").split(/^ {6}- alert: /m);
  return parts.map((text) => ({
    name: text.slice(0, text.indexOf("\n")),
    text,
    expression: /^ {8}expr: (?:\|\n((?: {10}.*\n)+)|(.*)\n)/m.exec(text)?.slice(1).find(Boolean) ?? "",
  }));
}

function queries(): readonly Query[] {
  const shown = dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ where: title, expression: expr })),
  );
  const rules = alerts().map(({ name, expression }) => ({ where: name, expression }));
  assert.ok(shown.length > 20 && rules.length > 8);
  return [...shown, ...rules];
}

/** PromQL keywords that are followed by a list of labels in parentheses. */
const labelLists = /\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)/g;

/**
 * Returns the metrics in a PromQL query with the labels in their selectors, and the labels by which the query groups.
 */
function namedIn(expression: string) {
  const grouped = [...expression.matchAll(labelLists)].flatMap(([, list = ""]) => list.split(/,\s*/));
  const rest = expression.replaceAll(labelLists, " ").replaceAll(/\[[^\]]*\]/g, " ");
  const metrics: { readonly name: string; readonly labels: readonly string[] }[] = [];
  for (const [, name = "", next = "", selector = ""] of rest.matchAll(
    /([a-zA-Z_:][\w:]*)\s*(\(|\{([^}]*)\})?/g,
  )) {
    // A name before a parenthesis is a function.
    if (next === "(") continue;
    const labels = [...selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g)].map(([, label = ""]) => label);
    metrics.push({ name, labels });
  }
  return { grouped, metrics };
}

/** Labels that Prometheus itself adds to samples. */
const added = ["instance", "job"];

/** Returns the labels of a metric's samples; null if the server has no such metric. */
function labelsOf(exposition: string, name: string): ReadonlySet<string> | null {
  const lines = exposition.split("\n").filter((line) => new RegExp(`^${name}[{ ]`).test(line));
  const family = name.replace(/_(bucket|sum|count)$/, "");
  if (lines.length === 0 && !new RegExp(`^# TYPE (${name}|${family}) `, "m").test(exposition)) return null;
  return new Set([...lines.join("\n").matchAll(/(\w+)="/g)].map(([, label = ""]) => label));
}

/** Metrics that appear only if a limit is set, which this server does not have. */
const unlimited = ["hone_model_memory_bytes_max"];

test("each query uses metrics of the server with their labels", async () => {
  const exposition = await exposed();
  for (const { where, expression } of queries()) {
    const { grouped, metrics } = namedIn(expression);
    assert.ok(metrics.length > 0, `${where}: ${expression}`);
    for (const { name, labels } of metrics) {
      if (name === "up") continue;
      const has = labelsOf(exposition, name);
      assert.ok(has !== null, `${where}: the server has no ${name}`);
      const known = [...has, ...added];
      for (const label of [...labels, ...grouped])
        assert.ok(known.includes(label), `${where}: ${name} has no label ${label}`);
      if (!unlimited.includes(name)) assert.match(exposition, new RegExp(`^${name}[{ ]`, "m"), where);
    }
  }
});

test("detects a query with a nonexistent metric or label", async () => {
  const exposition = await exposed();
  const { metrics, grouped } = namedIn(
    'sum by (why, le) (rate(hone_none_total{a="b", c=~"d"}[5m])) / up > 5',
  );
  assert.deepEqual(metrics, [
    { name: "hone_none_total", labels: ["a", "c"] },
    { name: "up", labels: [] },
  ]);
  assert.deepEqual(grouped, ["why", "le"]);
  assert.equal(labelsOf(exposition, "hone_none_total"), null);
  assert.ok(labelsOf(exposition, "hone_http_request_seconds_bucket")?.has("le"));
});

test("panels have unique ids, do not overlap, and use only labels that their queries return", async () => {
  const exposition = await exposed();
  const { panels, templating } = dashboard;
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  const cells = new Set<string>();
  for (const { title, gridPos, targets = [] } of panels) {
    assert.ok(gridPos.x + gridPos.w <= 24, title);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        assert.ok(!cells.has(`${x} ${y}`), `${title} lies on another panel`);
        cells.add(`${x} ${y}`);
      }
    for (const { expr, legendFormat } of targets)
      for (const [, label = ""] of legendFormat.matchAll(/\{\{(\w+)\}\}/g))
        assert.ok(namedIn(expr).grouped.includes(label), `${title}: ${label}`);
    for (const [, name = ""] of targets
      .map(({ expr }) => expr)
      .join(" ")
      .matchAll(/\$(?!__)(\w+)/g))
      assert.ok(
        templating.list.some((variable) => variable.name === name),
        name,
      );
  }
  for (const { definition = "" } of templating.list)
    for (const [, name = ""] of definition.matchAll(/label_values\((\w+),/g))
      assert.ok(labelsOf(exposition, name) !== null);
});

test("each alert has a severity, a summary and a remedy, and is listed in the guide", () => {
  const text = readFileSync(page, "utf8");
  for (const { name, text: rule } of alerts()) {
    assert.match(rule, /labels: \{ severity: (page|ticket) \}/, name);
    assert.match(rule, /summary: ".+"\n +description: ".+"/, name);
    assert.ok(text.includes(`\`${name}\``), `${page} has ${name}`);
  }
});

test("the guide mentions only metrics of the server", async () => {
  const exposition = await exposed();
  for (const [, name = ""] of readFileSync(page, "utf8").matchAll(/`((?:hone_|vllm:)\w+)`/g))
    assert.ok(name === "hone_" || labelsOf(exposition, name) !== null, name);
});

const isChecked = spawnSync("promtool", ["--version"], { stdio: "ignore" }).error === undefined;

test(
  "Prometheus accepts the rules and the metrics",
  { skip: !isChecked && "SKIPPED: promtool is not installed here" },
  async () => {
    for (const words of [
      ["check", "config", `${folder}/prometheus.yaml`],
      ["check", "rules", rulesFile],
    ]) {
      const { status, stdout, stderr } = spawnSync("promtool", words, { encoding: "utf8" });
      assert.equal(status, 0, stdout + stderr);
    }
    const { stderr } = spawnSync("promtool", ["check", "metrics"], {
      input: await exposed(),
      encoding: "utf8",
    });
    // Only errors and warnings about Hone's metrics count. Warnings about colons in vLLM's names and about Node's own
    // metrics are expected.
    assert.doesNotMatch(stderr, /error while linting|^hone_/m);
  },
);
