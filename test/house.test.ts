// The house as a test: which folder may import which, which vendor belongs to which folder, and a few absences.
// The table is that of docs/architecture.md; a change there and here is one change.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { test } from "node:test";

interface Room {
  readonly rank: number;
  readonly mayImport: readonly string[];
  readonly vendors: readonly string[];
}

const house: Readonly<Record<string, Room>> = {
  domain: { rank: 0, mayImport: [], vendors: [] },
  graph: { rank: 1, mayImport: ["domain"], vendors: ["@bufbuild/protobuf"] },
  jinja: { rank: 1, mayImport: ["domain"], vendors: [] },
  regex: { rank: 1, mayImport: ["domain"], vendors: [] },
  validation: { rank: 1, mayImport: ["domain"], vendors: [] },
  telemetry: {
    rank: 1,
    mayImport: ["domain"],
    vendors: [
      "pino",
      "prom-client",
      "@opentelemetry/api",
      "@opentelemetry/otlp-exporter-base",
      "@opentelemetry/otlp-transformer",
      "@opentelemetry/resources",
      "@opentelemetry/sdk-metrics",
      "@opentelemetry/sdk-trace",
    ],
  },
  processes: { rank: 2, mayImport: ["domain", "telemetry"], vendors: [] },
  storage: { rank: 1, mayImport: ["domain"], vendors: ["kysely", "libsql", "pg"] },
  client: {
    rank: 1,
    mayImport: [],
    vendors: ["openai", "@ai-sdk/openai-compatible", "@langchain/openai", "@openai/agents"],
  },
  artifacts: { rank: 1, mayImport: ["domain"], vendors: ["@aws-sdk/client-s3"] },
  archives: { rank: 1, mayImport: ["domain"], vendors: ["tar"] },
  "model-files": { rank: 1, mayImport: ["domain"], vendors: [] },
  dashboard: {
    rank: 2,
    mayImport: ["client"],
    vendors: ["@preact/signals", "preact", "uplot"],
  },
  tokenizer: { rank: 2, mayImport: ["domain", "jinja"], vendors: ["@huggingface/tokenizers"] },
  grammar: { rank: 2, mayImport: ["domain", "regex"], vendors: [] },
  runtime: { rank: 2, mayImport: ["domain", "graph"], vendors: ["onnxruntime-node"] },
  model: { rank: 2, mayImport: ["domain", "artifacts", "graph", "model-files"], vendors: [] },
  registry: { rank: 2, mayImport: ["domain", "artifacts"], vendors: [] },
  jobs: { rank: 2, mayImport: ["domain", "telemetry"], vendors: [] },
  trajectories: { rank: 3, mayImport: ["domain", "telemetry", "tokenizer"], vendors: [] },
  rewards: { rank: 3, mayImport: ["domain", "telemetry", "jobs"], vendors: [] },
  annotation: { rank: 3, mayImport: ["domain", "feedback"], vendors: [] },
  feedback: { rank: 2, mayImport: ["domain", "regex"], vendors: ["unicode-emoji-json"] },
  traces: { rank: 3, mayImport: ["domain", "artifacts", "feedback"], vendors: [] },
  checkpoints: {
    rank: 3,
    mayImport: ["domain", "artifacts", "processes", "archives", "model-files", "model", "registry"],
    vendors: [],
  },
  backup: { rank: 3, mayImport: ["domain", "artifacts", "model"], vendors: [] },
  recordings: { rank: 2, mayImport: ["domain", "telemetry"], vendors: [] },
  retention: { rank: 2, mayImport: ["domain", "telemetry"], vendors: [] },
  files: { rank: 2, mayImport: ["domain", "artifacts"], vendors: [] },
  keys: { rank: 3, mayImport: ["domain", "telemetry", "registry"], vendors: [] },
  users: { rank: 3, mayImport: ["domain", "registry"], vendors: ["jose"] },
  library: {
    rank: 3,
    mayImport: ["domain", "artifacts", "model-files", "model", "tokenizer"],
    vendors: ["@huggingface/hub"],
  },
  engine: {
    rank: 3,
    mayImport: ["domain", "telemetry", "processes", "regex", "grammar", "graph", "model", "runtime"],
    vendors: [],
  },
  remote: { rank: 4, mayImport: ["domain", "telemetry", "artifacts", "model", "engine"], vendors: [] },
  transfer: { rank: 3, mayImport: ["domain", "telemetry"], vendors: [] },
  webhooks: { rank: 2, mayImport: ["domain", "telemetry"], vendors: [] },
  chat: {
    rank: 4,
    mayImport: ["domain", "telemetry", "processes", "tokenizer", "registry", "trajectories", "transfer"],
    vendors: [],
  },
  training: {
    rank: 4,
    mayImport: [
      "domain",
      "telemetry",
      "processes",
      "artifacts",
      "archives",
      "graph",
      "model-files",
      "model",
      "runtime",
      "tokenizer",
      "trajectories",
    ],
    vendors: [],
  },
  wire: {
    rank: 4,
    mayImport: ["domain", "validation", "trajectories", "feedback", "annotation", "traces"],
    vendors: ["typebox", "hyparquet-writer"],
  },
  http: {
    rank: 5,
    mayImport: [
      "domain",
      "validation",
      "wire",
      "telemetry",
      "processes",
      "archives",
      "registry",
      "checkpoints",
      "chat",
      "jobs",
      "keys",
      "users",
      "trajectories",
      "feedback",
      "retention",
      "rewards",
      "annotation",
      "files",
      "traces",
      "transfer",
      "webhooks",
    ],
    vendors: ["fastify", "@fastify/multipart", "@fastify/swagger", "@fastify/swagger-ui"],
  },
  server: {
    rank: 6,
    mayImport: [
      "domain",
      "graph",
      "jinja",
      "tokenizer",
      "regex",
      "grammar",
      "validation",
      "wire",
      "telemetry",
      "processes",
      "storage",
      "artifacts",
      "archives",
      "backup",
      "checkpoints",
      "runtime",
      "model-files",
      "model",
      "registry",
      "jobs",
      "keys",
      "users",
      "trajectories",
      "feedback",
      "rewards",
      "recordings",
      "retention",
      "annotation",
      "files",
      "traces",
      "library",
      "engine",
      "remote",
      "transfer",
      "webhooks",
      "chat",
      "training",
      "http",
    ],
    vendors: [],
  },
  cli: { rank: 7, mayImport: ["domain", "client", "archives", "server"], vendors: ["commander"] },
};

const forbiddenNames = ["utils", "helpers", "common", "misc", "shared", "types", "constants"];

interface Source {
  /** Relative to the repository, with forward slashes. */
  readonly path: string;
  readonly room: string;
  readonly text: string;
}

function sources(): readonly Source[] {
  return readdirSync("src", { recursive: true })
    .map((name) => String(name).replaceAll("\\", "/"))
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => ({
      path: `src/${name}`,
      room: name.split("/")[0] ?? "",
      text: readFileSync(join("src", name), "utf8"),
    }));
}

/** Tests, and what only tests use. */
const isTest = (path: string): boolean => path.endsWith(".test.ts") || path.includes("/testing/");

/** What the product is made of: neither tests, nor what only tests use. */
const isProduct = ({ path }: Pick<Source, "path">): boolean =>
  !isTest(path) && !/\/(testing|contract)\//.test(path);

const lineCount = ({ text }: Source): number => text.split("\n").length - 1;

/** Every module a source names in a static or dynamic import, or a re-export. */
function importsOf(text: string): readonly string[] {
  const withoutComments = text.replaceAll(/^\s*(\/\/|\*|\/\*).*$/gm, "");
  const pattern =
    /(?:^|[\s;}])(?:import|export)\s(?:[^"'`;]*?\sfrom\s)?["']([^"']+)["']|import\(\s*["']([^"']+)["']\s*\)/g;
  return [...withoutComments.matchAll(pattern)].map((match) => match[1] ?? match[2] ?? "");
}

function packageOf(specifier: string): string {
  const parts = specifier.split("/");
  return specifier.startsWith("@") ? parts.slice(0, 2).join("/") : (parts[0] ?? "");
}

/** What is wrong with one import of one file, or null. */
function importFault(source: Source, specifier: string): string | null {
  if (specifier.startsWith("node:")) return null;
  const room = house[source.room];
  if (room === undefined) return `${source.path}: the folder ${source.room} is not in the house`;
  if (!specifier.startsWith(".")) {
    return room.vendors.includes(packageOf(specifier))
      ? null
      : `${source.path}: ${source.room} may not import the package ${specifier}`;
  }
  const target = posix.join(posix.dirname(source.path), specifier).split("/");
  if (target[0] !== "src") return `${source.path}: imports ${specifier}, which is outside src`;
  const other = target[1] ?? "";
  if (other === source.room || room.mayImport.includes(other)) return null;
  return `${source.path}: ${source.room} may not import ${other}`;
}

test("imports stay within the house's table", () => {
  const checked = sources().filter((source) => !isTest(source.path));
  let importCount = 0;
  const faults: string[] = [];
  for (const source of checked) {
    for (const specifier of importsOf(source.text)) {
      importCount += 1;
      const fault = importFault(source, specifier);
      if (fault !== null) faults.push(fault);
    }
  }
  assert.deepEqual(faults, []);
  assert.ok(checked.length > 60, `saw only ${checked.length} files`);
  assert.ok(importCount > 200, `saw only ${importCount} imports`);
  assert.deepEqual(
    Object.keys(house).filter((room) => !checked.some((source) => source.room === room)),
    [],
    "every folder of the table exists",
  );
});

test("the table itself only points downwards", () => {
  for (const [name, room] of Object.entries(house)) {
    for (const other of room.mayImport) {
      const target = house[other];
      assert.ok(target !== undefined && target.rank < room.rank, `${name} -> ${other}`);
    }
  }
});

/** The rows of the table in docs/architecture.md, as they are written there. */
function documentedHouse(): Readonly<Record<string, Room>> {
  const page = readFileSync("docs/architecture.md", "utf8");
  const rows = page.matchAll(/^\| (\d) \| `([\w-]+)\/` \|.*\| ([^|]*) \| ([^|]*) \|$/gm);
  const listOf = (cell = "", folder = ""): readonly string[] => {
    if (cell === "–") return [];
    if (cell !== "all but client, dashboard, cli") return cell.split(", ").sort();
    return Object.keys(house)
      .filter((other) => !["client", "dashboard", "cli", folder].includes(other))
      .sort();
  };
  return Object.fromEntries(
    [...rows].map(([, rank, folder, mayImport, vendors]) => [
      folder,
      { rank: Number(rank), mayImport: listOf(mayImport, folder), vendors: listOf(vendors) },
    ]),
  );
}

test("docs/architecture.md shows the same table", () => {
  const sorted = Object.entries(house).map(([name, { rank, mayImport, vendors }]) => [
    name,
    { rank, mayImport: [...mayImport].sort(), vendors: [...vendors].sort() },
  ]);
  assert.deepEqual(documentedHouse(), Object.fromEntries(sorted));
});

/** The files and folders under src/ that a page names. */
function pathsIn(page: string): readonly string[] {
  return [...page.matchAll(/`([a-z]+)\/([a-z0-9-/]*)`/g)]
    .filter(([, room = ""]) => house[room] !== undefined)
    .map(([, room = "", rest = ""]) => posix.join("src", room, rest));
}

test("docs/architecture.md names files and folders that are there", () => {
  const named = pathsIn(readFileSync("docs/architecture.md", "utf8"));
  const known = sources().map(({ path }) => path);
  const isThere = (name: string): boolean =>
    known.some(
      (path) => path === `${name}.ts` || path === `${name}.tsx` || path.startsWith(posix.join(name, "/")),
    );
  assert.ok(named.length > 100, `found only ${named.length} names`);
  assert.deepEqual(
    named.filter((name) => !isThere(name)),
    [],
  );
  assert.deepEqual(pathsIn("`http/gone` and `adapters/` and `chat/`"), ["src/http/gone", "src/chat"]);
  assert.equal(isThere("src/http/gone"), false);
});

test("the check refuses what it should refuse", () => {
  const at = (path: string): Source => ({ path, room: path.split("/")[1] ?? "", text: "" });
  assert.notEqual(importFault(at("src/domain/clock.ts"), "../engine/engine.ts"), null);
  assert.notEqual(importFault(at("src/chat/complete-chat.ts"), "../http/sse.ts"), null);
  assert.notEqual(importFault(at("src/http/server.ts"), "onnxruntime-node"), null);
  assert.notEqual(importFault(at("src/http/server.ts"), "../../bench/limits.ts"), null);
  assert.equal(importFault(at("src/http/server.ts"), "fastify"), null);
  assert.deepEqual(
    importsOf('import { a } from "./a.ts";\nexport type { B } from "./b.ts";\nawait import("./c.ts");'),
    ["./a.ts", "./b.ts", "./c.ts"],
  );
});

test("examples reach the product over HTTP alone, as any client does", () => {
  const files = readdirSync("examples", { recursive: true })
    .map((name) => `examples/${String(name).replaceAll("\\", "/")}`)
    .filter((path) => path.endsWith(".ts"));
  const imported = files.flatMap((path) =>
    importsOf(readFileSync(path, "utf8"))
      .filter((specifier) => specifier.startsWith("."))
      .map((specifier) => posix.join(posix.dirname(path), specifier)),
  );
  const reached = imported.filter((path) => path.startsWith("src/"));
  assert.ok(reached.length > 5);
  assert.deepEqual(
    reached.filter((path) => !/^src\/(client|domain|cli)\//.test(path)),
    [],
  );
});

test("commands load the server only once they run", () => {
  const atOnce = /^import (?!type\b)[^;]*?from "((?:\.\.\/)+server\/[^"]+)"/gm;
  const loaded = sources()
    .filter((source) => source.room === "cli" && !isTest(source.path))
    .flatMap(({ text }) => [...text.matchAll(atOnce)].map((match) => posix.basename(match[1] ?? "")));
  assert.deepEqual([...new Set(loaded)].sort(), ["config.ts"]);
});

test("no file or folder has a name that says nothing", () => {
  const faults = sources().filter((source) =>
    source.path.split("/").some((part) => forbiddenNames.includes(part.replace(/(\.test)?\.ts$/, ""))),
  );
  assert.deepEqual(
    faults.map((source) => source.path),
    [],
  );
});

test("nothing that a merge left behind is in what people read", () => {
  const pages = [".", "docs"].flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith(".md"))
      .map((name) => posix.join(folder, name)),
  );
  assert.ok(pages.includes("CHANGELOG.md") && pages.includes("docs/training.md"));
  assert.deepEqual(
    pages.filter((page) => /^(<{7}|>{7}) /m.test(readFileSync(page, "utf8"))),
    [],
  );
});

/** Something that stands in few places alone, by an invariant of docs/architecture.md. */
interface Absence {
  readonly invariant: number;
  readonly pattern: RegExp;
  /** The product's files that are looked at; all of `src/` unless given. */
  readonly among?: RegExp;
  /** The files and folders that may have it. */
  readonly allowed: readonly string[];
  /** A text that has it. */
  readonly example: string;
}

const absences: readonly Absence[] = [
  {
    invariant: 1,
    pattern: /"node:(?!assert|crypto|perf_hooks)/,
    among: /^src\/(domain|jinja|regex|grammar|validation)\//,
    allowed: [],
    example: 'import { readFile } from "node:fs/promises";',
  },
  {
    invariant: 1,
    pattern: /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(/,
    allowed: ["src/domain/clock.ts", "src/client/platform.ts"],
    example: "const start = performance.now();",
  },
  {
    invariant: 1,
    pattern: /\bMath\.random\(|\brandomBytes\(|\brandomUUID\(/,
    allowed: ["src/domain/random.ts", "src/domain/ids.ts", "src/client/platform.ts"],
    example: "const id = randomUUID();",
  },
  {
    invariant: 1,
    pattern: /\bprocess\.env\b/,
    // All but the first set what a library reads of it.
    allowed: ["src/server/config.ts", "src/runtime/environment.ts", "src/storage/sqlite/libsql-threads.ts"],
    example: "const home = process.env.HOME;",
  },
  {
    invariant: 2,
    pattern: /"node:https?"|\bstatus(Code)?: [1-5]\d\d\b/,
    // The others are at the other end: they ask.
    allowed: ["src/http/", "src/webhooks/send-request.ts", "src/remote/http/"],
    example: "return { status: 404 };",
  },
  {
    invariant: 3,
    pattern: /"\.[^"]*\/embedded\//,
    allowed: [
      // The process of the embedded trainer, and what starts it.
      "src/training/child-main.ts",
      "src/training/child-runner.ts",
    ],
    example: 'import type { Moments } from "../embedded/state-file.ts";',
  },
  {
    invariant: 4,
    pattern: /\basync\b|\bawait\b|\bPromise\b|\bClock\b|"node:/,
    among: /^src\/engine\/schedule\//,
    allowed: [],
    example: "export async function planStep() {}",
  },
  {
    invariant: 6,
    pattern: /\brender(Prompt|Conversation)\b[^}]*\} from "/,
    allowed: ["src/training/", "src/chat/prompts/"],
    example: 'import { renderPrompt } from "../tokenizer/render-prompt.ts";',
  },
  {
    invariant: 6,
    pattern: /\bwritePrompt\(/,
    allowed: ["src/chat/prompts/"],
    example: "const prompt = writePrompt(task, model);",
  },
  {
    invariant: 7,
    pattern: /"node:child_process"/,
    // `hone open` hands an address to the desktop, and waits for nothing of it.
    allowed: ["src/processes/", "src/cli/commands/open.ts"],
    example: 'import { fork } from "node:child_process";',
  },
  {
    invariant: 13,
    pattern: /(?<!\w)\["(body|query)"/,
    // What reads JSON from bytes is given nothing but a body.
    allowed: ["src/wire/", "src/http/", "src/validation/json-body.ts"],
    example: 'const location = ["body", "batch"];',
  },
  {
    invariant: 14,
    pattern: /"libsql"|"\.[^"]*\/sqlite\/|"\.\/sqlite-|\bPRAGMA\b/,
    // Copies make the tables of an older version in memory, to see which those are.
    allowed: [
      "src/storage/sqlite/",
      "src/storage/copies/tables-of-version.ts",
      "src/server/database-place.ts",
    ],
    example: 'import { openSqlite } from "../storage/sqlite/sqlite-dialect.ts";',
  },
  {
    invariant: 16,
    pattern: /\bdataFolder\b/,
    allowed: ["src/server/", "src/storage/sqlite/"],
    example: 'const folder = join(dataFolder, "adapters");',
  },
  {
    invariant: 17,
    pattern: /(?<![.\w])fetch\(/,
    allowed: [
      "src/library/hub/requests.ts",
      "src/client/connection.ts",
      "src/training/tinker/http/connection.ts",
      "src/transfer/fetch-prompt.ts",
      "src/users/id-tokens.ts",
    ],
    example: "const answer = await fetch(url);",
  },
];

/** The files that have what the invariant keeps to others. */
function offenders(
  { pattern, among = /^src\//, allowed }: Absence,
  files: readonly Pick<Source, "path" | "text">[],
): readonly string[] {
  return files
    .filter(({ path, text }) => among.test(path) && pattern.test(text))
    .map(({ path }) => path)
    .filter(
      (path) => !allowed.some((place) => path === place || (place.endsWith("/") && path.startsWith(place))),
    );
}

test("what an invariant keeps to one place is nowhere else", () => {
  const product = sources().filter(isProduct);
  for (const absence of absences) {
    const { invariant, pattern, allowed, example } = absence;
    const name = `invariant ${invariant}: ${pattern.source}`;
    assert.deepEqual(offenders(absence, product), [], name);
    const path = absence.among === undefined ? "src/chat/bad.ts" : "src/domain/bad.ts";
    const bad = { path: invariant === 4 ? "src/engine/schedule/scheduler.ts" : path, text: example };
    assert.deepEqual(offenders(absence, [bad]), [bad.path], `${name} is found in its example`);
    const unused = allowed.filter(
      (place) => !product.some(({ path: own, text }) => own.startsWith(place) && pattern.test(text)),
    );
    assert.deepEqual(unused, [], `${name} is where it may be`);
  }
});

/** Every module that is loaded with a source: types are not, and neither are threads and processes of its own. */
function loadedBy(text: string): readonly string[] {
  return importsOf(text.replaceAll(/\b(import|export) type\s[^;]*;/g, ""));
}

/** A way from a file to a package through what is loaded with it; null when there is none. */
function wayTo(name: string, from: string, files: ReadonlyMap<string, string>): readonly string[] | null {
  const seen = new Set<string>();
  const visit = (path: string, trail: readonly string[]): readonly string[] | null => {
    if (seen.has(path)) return null;
    seen.add(path);
    for (const specifier of loadedBy(files.get(path) ?? "")) {
      if (packageOf(specifier) === name) return [...trail, path, specifier];
      if (!specifier.startsWith(".")) continue;
      const way = visit(posix.join(posix.dirname(path), specifier), [...trail, path]);
      if (way !== null) return way;
    }
    return null;
  };
  return visit(from, []);
}

test("invariant 7: the server's process loads no native compute, and what computes does", () => {
  const files = new Map(sources().map(({ path, text }) => [path, text]));
  assert.equal(wayTo("onnxruntime-node", "src/server/server.ts", files), null);
  for (const entry of ["src/engine/embedded-main.ts", "src/training/child-main.ts"])
    assert.notEqual(wayTo("onnxruntime-node", entry, files), null, entry);
  const types = 'import type { T } from "./b.ts";\nimport type {\n  U,\n} from "./b.ts";';
  const example = new Map([
    ["src/a.ts", types],
    ["src/b.ts", 'import { InferenceSession } from "onnxruntime-node";'],
  ]);
  assert.equal(wayTo("onnxruntime-node", "src/a.ts", example), null);
  example.set("src/a.ts", `${types}\nawait import("./b.ts");`);
  assert.deepEqual(wayTo("onnxruntime-node", "src/a.ts", example), [
    "src/a.ts",
    "src/b.ts",
    "onnxruntime-node",
  ]);
});

test("every source opens by saying what it is", () => {
  const faults = sources().filter(
    (source) => !isTest(source.path) && !/^(#!.*\n)?(\/\/|\/\*)/.test(source.text),
  );
  assert.deepEqual(
    faults.map((source) => source.path),
    [],
  );
});

/** The numbers of the lines of a source that are comments and too long to read. */
function longComments(text: string): readonly number[] {
  return text
    .split("\n")
    .flatMap((line, index) => (/^\s*(\/\/|\/?\*)/.test(line) && line.length > 130 ? [index + 1] : []));
}

test("no line of a comment is longer than 130 characters", () => {
  const long = sources().flatMap(({ path, text }) => longComments(text).map((line) => `${path}:${line}`));
  assert.deepEqual(long, []);
  const words = "word ".repeat(26);
  assert.deepEqual(longComments(`// ${words}\n${words}\n /** ${words}*/\n   * ${words}`), [1, 3, 4]);
});

test("a folder stays small enough to know", () => {
  const counts = new Map<string, number>();
  for (const source of sources().filter((candidate) => !isTest(candidate.path))) {
    const folder = posix.dirname(source.path);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  const tooFull = [...counts].filter(([folder, count]) => count > (folder === "src/domain" ? 25 : 16));
  assert.deepEqual(tooFull, []);
});

test("no folder holds more than 15 % of the lines", () => {
  const product = sources().filter(isProduct);
  const lines = new Map<string, number>();
  for (const source of product) lines.set(source.room, (lines.get(source.room) ?? 0) + lineCount(source));
  const total = product.map(lineCount).reduce((sum, count) => sum + count, 0);
  const tooLarge = [...lines].filter(([, count]) => count > total * 0.15);
  assert.deepEqual(tooLarge, [], `of ${total} lines`);
});

test("half of the files have at most 90 lines", () => {
  const counts = sources()
    .filter(isProduct)
    .map(lineCount)
    .sort((one, other) => one - other);
  assert.ok((counts[Math.floor(counts.length / 2)] ?? 0) <= 90);
});

/** The first circle among files that import each other, by path; null when there is none. Types count. */
function importCircle(files: readonly Pick<Source, "path" | "text">[]): readonly string[] | null {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): readonly string[] | null => {
    if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path];
    if (done.has(path)) return null;
    for (const specifier of importsOf(byPath.get(path)?.text ?? "")) {
      if (!specifier.startsWith(".")) continue;
      const circle = visit(posix.join(posix.dirname(path), specifier), [...trail, path]);
      if (circle !== null) return circle;
    }
    done.add(path);
    return null;
  };
  for (const path of byPath.keys()) {
    const circle = visit(path, []);
    if (circle !== null) return circle;
  }
  return null;
}

/** What a source starts as a thread or process of its own. */
function entriesOf(text: string): readonly string[] {
  return [...text.matchAll(/new URL\(\s*"(\.[^"]+)\.js"/g)].map(([, path = ""]) => `${path}.ts`);
}

test("what only tests and tools use lies in testing/ and contract/, or where they are", () => {
  const product = new Map(sources().map(({ path, text }) => [path, text]));
  const reached = new Set<string>();
  const visit = (path: string): void => {
    const text = product.get(path);
    if (text === undefined || reached.has(path)) return;
    reached.add(path);
    for (const specifier of [...importsOf(text), ...entriesOf(text)])
      visit(posix.join(posix.dirname(path), specifier));
  };
  // The command, what programs import, and what browsers load.
  for (const entry of ["src/cli/main.ts", "src/client/index.ts", "src/dashboard/main.tsx"]) visit(entry);
  const unreached = sources()
    .filter((source) => isProduct(source) && !reached.has(source.path))
    .map(({ path }) => path);
  assert.deepEqual(unreached, []);
  assert.deepEqual(
    [...reached].filter((path) => !isProduct({ path })),
    [],
  );
});

test("no files import each other in a circle", () => {
  assert.equal(importCircle(sources()), null);
});

test("a circle is found, and a common ground is none", () => {
  const file = (path: string, ...imports: readonly string[]) => ({
    path,
    text: imports.map((name) => `import type { X } from "${name}";`).join("\n"),
  });
  const ground = [file("src/a/x.ts", "./y.ts", "../b/z.ts"), file("src/a/y.ts", "../b/z.ts")];
  assert.equal(importCircle([...ground, file("src/b/z.ts")]), null);
  assert.deepEqual(importCircle([...ground, file("src/b/z.ts", "../a/y.ts")]), [
    "src/a/y.ts",
    "src/b/z.ts",
    "src/a/y.ts",
  ]);
});
