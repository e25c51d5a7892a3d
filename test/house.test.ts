// Checks the imports in src/ against the areas and rooms in docs/concepts/architecture.md and rooms.md. Also checks the
// sizes of files and folders. Change the pages and the table below together. invariants.test.ts checks the invariants.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { test } from "node:test";
import { type Source, sources, isTest, isProduct, importsOf, packageOf } from "./house-sources.ts";

/** A room: a folder within an area. */
interface Room {
  /** Rooms of the same area that this room may import. They come before this room in the table. */
  readonly mayImport: readonly string[];
  /** Packages that only this room imports. */
  readonly vendors: readonly string[];
  /** Areas that this room may import; all areas that its own area may import if absent. */
  readonly areas?: readonly string[];
}

interface Area {
  /** Areas that the rooms of this area may import. They come before this area in the table. */
  readonly mayImport: readonly string[];
  /** Modules of other areas that this area may import; all if absent. */
  readonly modules?: readonly string[];
  /** Rooms of this area, by folder name. */
  readonly rooms: Readonly<Record<string, Room>>;
}

const house: Readonly<Record<string, Area>> = {
  base: {
    mayImport: [],
    rooms: {
      domain: { mayImport: [], vendors: [] },
      validation: { mayImport: ["domain"], vendors: [] },
      telemetry: {
        mayImport: ["domain"],
        vendors: [
          "pino",
          "prom-client",
          "@opentelemetry/api",
          "@opentelemetry/exporter-metrics-otlp-http",
          "@opentelemetry/exporter-metrics-otlp-proto",
          "@opentelemetry/exporter-trace-otlp-http",
          "@opentelemetry/exporter-trace-otlp-proto",
          "@opentelemetry/resources",
          "@opentelemetry/sdk-metrics",
          "@opentelemetry/sdk-trace",
        ],
      },
      processes: { mayImport: ["domain", "telemetry"], vendors: [] },
      "http-client": { mayImport: ["domain"], vendors: ["undici"] },
    },
  },
  lib: {
    mayImport: ["base"],
    modules: [
      "base/domain/assert.ts",
      "base/domain/clock.ts",
      "base/domain/constraint.ts",
      "base/domain/transient-errors/plain-file.ts",
      "base/domain/parameters/parameter-tags.ts",
      "base/domain/random.ts",
      "base/domain/service-error.ts",
      "base/domain/text/exact-json.ts",
      "base/domain/text/json.ts",
    ],
    rooms: {
      jinja: { mayImport: [], vendors: [] },
      constraints: { mayImport: [], vendors: [] },
      protobuf: { mayImport: [], vendors: ["@bufbuild/protobuf"] },
      graph: { mayImport: ["protobuf"], vendors: [] },
      vectors: { mayImport: [], vendors: [] },
      "model-files": { mayImport: ["vectors"], vendors: [] },
      tokenizer: { mayImport: [], vendors: ["@huggingface/tokenizers"] },
      archives: { mayImport: [], vendors: ["tar"] },
    },
  },
  store: {
    mayImport: ["base"],
    rooms: {
      database: { mayImport: [], vendors: ["kysely", "libsql", "pg"] },
      artifacts: { mayImport: [], vendors: ["@aws-sdk/client-s3"] },
      retention: { mayImport: [], vendors: [] },
    },
  },
  inference: {
    mayImport: ["base", "lib", "store"],
    rooms: {
      onnx: { mayImport: [], vendors: ["onnxruntime-node"] },
      architectures: { mayImport: [], vendors: [] },
      "chat-templates": { mayImport: [], vendors: [] },
      models: { mayImport: ["architectures", "chat-templates"], vendors: ["@huggingface/hub"] },
      engine: { mayImport: ["architectures", "onnx"], vendors: [] },
      vllm: { mayImport: ["architectures", "engine"], vendors: [] },
      "kv-transfer": { mayImport: [], vendors: [] },
      chat: { mayImport: ["chat-templates", "models", "kv-transfer"], vendors: [] },
    },
  },
  judge: {
    mayImport: ["base", "lib", "store"],
    rooms: {
      feedback: { mayImport: [], vendors: ["unicode-emoji-json"] },
      annotation: { mayImport: ["feedback"], vendors: [] },
      weave: { mayImport: ["feedback"], vendors: [] },
      otlp: { mayImport: [], vendors: [] },
    },
  },
  train: {
    mayImport: ["base", "lib", "store", "inference"],
    rooms: {
      jobs: { mayImport: [], vendors: [] },
      uploads: { mayImport: [], vendors: [] },
      graders: { mayImport: [], vendors: [] },
      "fine-tuning": { mayImport: ["jobs", "uploads", "graders"], vendors: [] },
      trajectories: { mayImport: [], vendors: [] },
      rollouts: { mayImport: ["jobs", "trajectories"], vendors: [] },
      rewards: { mayImport: ["jobs", "rollouts", "trajectories"], vendors: [] },
      learning: { mayImport: ["jobs", "graders", "trajectories", "rewards"], vendors: [] },
      trainer: { mayImport: ["trajectories"], vendors: [] },
      sessions: { mayImport: ["trainer"], vendors: [] },
    },
  },
  access: {
    mayImport: ["base", "inference"],
    rooms: {
      keys: { mayImport: [], vendors: [] },
      users: { mayImport: [], vendors: ["jose"] },
    },
  },
  api: {
    mayImport: ["base", "lib", "store", "inference", "judge", "train", "access"],
    rooms: {
      webhooks: { mayImport: [], vendors: [] },
      wire: { mayImport: [], vendors: ["typebox", "hyparquet-writer"] },
      http: {
        mayImport: ["wire", "webhooks"],
        vendors: ["fastify", "@fastify/multipart", "@fastify/swagger", "@fastify/swagger-ui"],
      },
    },
  },
  apps: {
    mayImport: ["base", "lib", "store", "inference", "judge", "train", "access", "api"],
    rooms: {
      client: {
        mayImport: [],
        vendors: [
          "openai",
          "@ai-sdk/openai-compatible",
          "@langchain/openai",
          "@openai/agents",
          "@modelcontextprotocol/client",
        ],
        areas: [],
      },
      dashboard: {
        mayImport: ["client"],
        vendors: ["@preact/signals", "diff", "dompurify", "lucide", "marked", "preact", "uplot"],
        areas: [],
      },
      backup: { mayImport: [], vendors: [] },
      server: { mayImport: ["backup"], vendors: [] },
      cli: {
        mayImport: ["client", "server"],
        vendors: ["commander", "@modelcontextprotocol/server", "zod"],
        areas: ["base", "lib"],
      },
    },
  },
};

const lineCount = ({ text }: Source): number => text.split("\n").length - 1;

/** Returns the area and room of a file of src/. */
function placeOf(path: string): readonly [area: string, room: string] {
  const [, area = "", room = ""] = path.split("/");
  return [area, room];
}

/** Returns the fault of an import, or null if it is allowed. */
function importFault({ path }: Pick<Source, "path">, specifier: string): string | null {
  if (specifier.startsWith("node:")) return null;
  const [area, room] = placeOf(path);
  const own = house[area]?.rooms[room];
  if (own === undefined) return `${path}: the folder ${area}/${room} is not in the house`;
  if (!specifier.startsWith(".")) {
    return own.vendors.includes(packageOf(specifier))
      ? null
      : `${path}: ${area}/${room} may not import the package ${specifier}`;
  }
  const target = posix.join(posix.dirname(path), specifier);
  if (!target.startsWith("src/")) return `${path}: imports ${specifier}, which is outside src`;
  const [otherArea, otherRoom] = placeOf(target);
  if (otherArea === area) {
    return otherRoom === room || own.mayImport.includes(otherRoom)
      ? null
      : `${path}: ${area}/${room} may not import ${area}/${otherRoom}`;
  }
  const { mayImport, modules } = house[area];
  if (!(own.areas ?? mayImport).includes(otherArea))
    return `${path}: ${area}/${room} may not import the area ${otherArea}`;
  return modules === undefined || modules.includes(target.slice("src/".length))
    ? null
    : `${path}: ${area} may not import ${target}`;
}

test("each import is allowed by the table", () => {
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
});

/** Returns entries of the table that no import uses. */
function unusedRows(): readonly string[] {
  const used = new Set<string>();
  for (const { path, text } of sources().filter((source) => !isTest(source.path))) {
    const [area, room] = placeOf(path);
    used.add(`${area}/${room}`);
    for (const specifier of importsOf(text)) {
      if (!specifier.startsWith(".")) continue;
      const target = posix.join(posix.dirname(path), specifier);
      const [otherArea, otherRoom] = placeOf(target);
      used.add(otherArea === area ? `${area}/${room} ${otherRoom}` : `${area} ${otherArea}`);
      used.add(`${area}/${room} area ${otherArea}`);
      used.add(`${area} ${target.slice("src/".length)}`);
    }
  }
  const allowed = Object.entries(house).flatMap(([area, { mayImport, modules = [], rooms }]) => [
    ...[...mayImport, ...modules].map((other) => `${area} ${other}`),
    ...Object.entries(rooms).flatMap(([room, { mayImport: others, areas = [] }]) => [
      `${area}/${room}`,
      ...others.map((other) => `${area}/${room} ${other}`),
      ...areas.map((other) => `${area}/${room} area ${other}`),
    ]),
  ]);
  return allowed.filter((row) => !used.has(row));
}

test("the table allows only imports that exist, and only from rows above", () => {
  assert.deepEqual(unusedRows(), []);
  const above = (names: readonly string[], name: string): readonly string[] =>
    names.slice(0, names.indexOf(name));
  const areas = Object.keys(house);
  for (const [area, { mayImport, rooms }] of Object.entries(house)) {
    for (const other of mayImport) assert.ok(above(areas, area).includes(other), `${area} -> ${other}`);
    for (const [room, { mayImport: others }] of Object.entries(rooms))
      for (const other of others)
        assert.ok(above(Object.keys(rooms), room).includes(other), `${area}/${room} -> ${other}`);
  }
  const vendors = Object.values(house).flatMap(({ rooms }) =>
    Object.values(rooms).flatMap((room) => room.vendors),
  );
  assert.equal(new Set(vendors).size, vendors.length, "each package belongs to one room");
});

/** Parses a table cell as a sorted list. */
const listIn = (cell = ""): readonly string[] => (cell === "–" ? [] : cell.split(", ").toSorted());

test("docs/concepts/architecture.md and rooms.md show the same tables", () => {
  const areasPage = readFileSync("docs/concepts/architecture.md", "utf8");
  const areas = [...areasPage.matchAll(/^\| \[`(\w+)\/`\]\([^)]*\) \|.*\| ([^|]*) \|$/gm)];
  assert.deepEqual(
    areas.map(([, area, mayImport]) => [area, listIn(mayImport)]),
    Object.entries(house).map(([area, { mayImport }]) => [area, mayImport.toSorted()]),
  );
  const roomsPage = readFileSync("docs/concepts/rooms.md", "utf8");
  const rooms = [...roomsPage.matchAll(/^\| `(\w+)\/([\w-]+)\/` \|.*\| ([^|]*) \| ([^|]*) \|$/gm)];
  assert.deepEqual(
    rooms.map(([, area, room, mayImport, vendors]) => [area, room, listIn(mayImport), listIn(vendors)]),
    Object.entries(house).flatMap(([area, { rooms: own }]) =>
      Object.entries(own).map(([room, { mayImport, vendors }]) => [
        area,
        room,
        mayImport.toSorted(),
        vendors.toSorted(),
      ]),
    ),
  );
});

test("each area has a page with its name as the title", () => {
  for (const area of Object.keys(house)) {
    const page = readFileSync(join("src", area, "README.md"), "utf8");
    assert.ok(page.startsWith(`# ${area}\n`), area);
  }
});

/** Returns the files and folders of src/ that a page names. */
function pathsIn(page: string): readonly string[] {
  return [...page.matchAll(/`([a-z]+)\/([a-z0-9-/]*)(?:\.tsx?)?`/g)]
    .filter(([, area = ""]) => house[area] !== undefined)
    .map(([, area = "", rest = ""]) => posix.join("src", area, rest));
}

test("the pages about the source name files and folders that exist", () => {
  const pages = ["docs/concepts", "docs/decisions"].flatMap((folder) =>
    readdirSync(folder).map((name) => join(folder, name)),
  );
  const named = ["CONTRIBUTING.md", ...pages].flatMap((page) => pathsIn(readFileSync(page, "utf8")));
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
  assert.deepEqual(pathsIn("`api/gone` and `adapters/` and `lib/`"), ["src/api/gone", "src/lib"]);
  assert.equal(isThere("src/api/gone"), false);
});

test("the import check refuses forbidden imports and accepts allowed ones", () => {
  const faultOf = (path: string, specifier: string) => importFault({ path }, specifier);
  assert.notEqual(faultOf("src/base/domain/clock.ts", "../../inference/engine/loop-engine.ts"), null);
  assert.notEqual(faultOf("src/base/domain/clock.ts", "../telemetry/logger.ts"), null);
  assert.notEqual(faultOf("src/inference/chat/complete-chat.ts", "../../api/http/sse.ts"), null);
  assert.notEqual(faultOf("src/lib/jinja/budget.ts", "../../base/domain/chat.ts"), null);
  assert.notEqual(faultOf("src/apps/client/hone.ts", "../../base/domain/clock.ts"), null);
  assert.notEqual(faultOf("src/api/http/server.ts", "onnxruntime-node"), null);
  assert.notEqual(faultOf("src/api/http/server.ts", "../../../bench/limits.ts"), null);
  assert.equal(faultOf("src/lib/jinja/budget.ts", "../../base/domain/clock.ts"), null);
  assert.equal(faultOf("src/api/http/server.ts", "../wire/checked.ts"), null);
  assert.equal(faultOf("src/api/http/server.ts", "fastify"), null);
  assert.deepEqual(
    importsOf('import { a } from "./a.ts";\nexport type { B } from "./b.ts";\nawait import("./c.ts");'),
    ["./a.ts", "./b.ts", "./c.ts"],
  );
});

test("examples import only the client, domain types and parts of the command line", () => {
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
    reached.filter((path) => !/^src\/(apps\/client|base\/domain|apps\/cli)\//.test(path)),
    [],
  );
});

test("commands load the server only when they run", () => {
  const atOnce = /^import (?!type\b)[^;]*?from "((?:\.\.\/)+server\/[^"]+)"/gm;
  const loaded = sources()
    .filter((source) => source.path.startsWith("src/apps/cli/") && !isTest(source.path))
    .flatMap(({ text }) => [...text.matchAll(atOnce)].map((match) => posix.basename(match[1] ?? "")));
  assert.deepEqual([...new Set(loaded)].sort(), ["config.ts"]);
});

test("every source opens with a comment", () => {
  const faults = sources().filter(
    (source) => !isTest(source.path) && !/^(#!.*\n)?(\/\/|\/\*)/.test(source.text),
  );
  assert.deepEqual(
    faults.map((source) => source.path),
    [],
  );
});

/** Returns the line numbers of comments with more than 130 characters. */
function longComments(text: string): readonly number[] {
  return text
    .split("\n")
    .flatMap((line, index) => (/^\s*(\/\/|\/?\*)/.test(line) && line.length > 130 ? [index + 1] : []));
}

test("no comment line is longer than 130 characters", () => {
  const long = sources().flatMap(({ path, text }) => longComments(text).map((line) => `${path}:${line}`));
  assert.deepEqual(long, []);
  const words = "word ".repeat(26);
  assert.deepEqual(longComments(`// ${words}\n${words}\n /** ${words}*/\n   * ${words}`), [1, 3, 4]);
});

test("no folder has more than 16 files", () => {
  const counts = new Map<string, number>();
  for (const source of sources().filter((candidate) => !isTest(candidate.path))) {
    const folder = posix.dirname(source.path);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  const tooFull = [...counts].filter(([folder, count]) => count > (folder === "src/base/domain" ? 25 : 16));
  assert.deepEqual(tooFull, []);
});

test("no room has more than 15 % of the lines", () => {
  const product = sources().filter(isProduct);
  const lines = new Map<string, number>();
  for (const source of product) {
    const room = placeOf(source.path).join("/");
    lines.set(room, (lines.get(room) ?? 0) + lineCount(source));
  }
  const total = product.map(lineCount).reduce((sum, count) => sum + count, 0);
  const tooLarge = [...lines].filter(([, count]) => count > total * 0.15);
  assert.deepEqual(tooLarge, [], `of ${total} lines`);
});

test("no test file has more than 600 lines", () => {
  const linesMax = 600;
  const tests = ["src", "test", "tools"].flatMap((folder) =>
    readdirSync(folder, { recursive: true })
      .map((name) => join(folder, String(name)))
      .filter((path) => path.endsWith(".test.ts") && !path.includes("node_modules")),
  );
  assert.ok(tests.length > 400);
  assert.deepEqual(
    tests.filter((path) => readFileSync(path, "utf8").split("\n").length > linesMax + 1),
    [],
  );
});

test("half of the files have at most 90 lines", () => {
  const counts = sources()
    .filter(isProduct)
    .map(lineCount)
    .sort((one, other) => one - other);
  assert.ok((counts[Math.floor(counts.length / 2)] ?? 0) <= 90);
});

/** Returns the first import cycle (in the order of paths) as a list of files, or null. Type imports count. */
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

/** Returns the files that a source starts as threads or processes. */
function entriesOf(text: string): readonly string[] {
  return [...text.matchAll(/new URL\(\s*"(\.[^"]+)\.js"/g)].map(([, path = ""]) => `${path}.ts`);
}

test("code used only by tests and tools is in testing/, contract/ or outside src/", () => {
  const product = new Map(sources().map(({ path, text }) => [path, text]));
  const reached = new Set<string>();
  const visit = (path: string): void => {
    const text = product.get(path);
    if (text === undefined || reached.has(path)) return;
    reached.add(path);
    for (const specifier of [...importsOf(text), ...entriesOf(text)])
      visit(posix.join(posix.dirname(path), specifier));
  };
  // Entry points: the command, the client for other programs, and the dashboard.
  for (const entry of ["src/apps/cli/main.ts", "src/apps/client/index.ts", "src/apps/dashboard/main.tsx"])
    visit(entry);
  const unreached = sources()
    .filter((source) => isProduct(source) && !reached.has(source.path))
    .map(({ path }) => path);
  assert.deepEqual(unreached, []);
  assert.deepEqual(
    [...reached].filter((path) => !isProduct({ path })),
    [],
  );
});

test("no files import each other in a cycle", () => {
  assert.equal(importCircle(sources()), null);
});

test("detects an import cycle, and does not mistake a shared import for one", () => {
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
