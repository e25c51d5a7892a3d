// The house as a test: which area and which room may import which, which vendor belongs to which room, and a few absences.
// The tables are those of docs/architecture.md; a change there and here is one change.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { test } from "node:test";

/** A room of an area. */
interface Room {
  /** The rooms of its own area that it may import, each of which stands above it in the table. */
  readonly mayImport: readonly string[];
  /** The packages that it imports, as no other room does. */
  readonly vendors: readonly string[];
  /** The areas that it may import, where these are fewer than its area may. */
  readonly areas?: readonly string[];
}

interface Area {
  /** The areas that its rooms may import, each of which stands above it in the table. */
  readonly mayImport: readonly string[];
  /** The only modules of other areas that it may import; all of them unless given. */
  readonly modules?: readonly string[];
  /** By their folder in the area. */
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
          "@opentelemetry/otlp-exporter-base",
          "@opentelemetry/otlp-transformer",
          "@opentelemetry/resources",
          "@opentelemetry/sdk-metrics",
          "@opentelemetry/sdk-trace",
        ],
      },
      processes: { mayImport: ["domain", "telemetry"], vendors: [] },
    },
  },
  lib: {
    mayImport: ["base"],
    modules: [
      "base/domain/assert.ts",
      "base/domain/clock.ts",
      "base/domain/constraint.ts",
      "base/domain/obstacles/plain-file.ts",
      "base/domain/parameters/parameter-tags.ts",
      "base/domain/random.ts",
      "base/domain/service-error.ts",
      "base/domain/text/exact-json.ts",
      "base/domain/text/json.ts",
    ],
    rooms: {
      jinja: { mayImport: [], vendors: [] },
      constraints: { mayImport: [], vendors: [] },
      graph: { mayImport: [], vendors: ["@bufbuild/protobuf"] },
      "model-files": { mayImport: [], vendors: [] },
      tokenizer: { mayImport: [], vendors: ["@huggingface/tokenizers"] },
      archives: { mayImport: [], vendors: ["tar"] },
    },
  },
  store: {
    mayImport: ["base"],
    rooms: {
      storage: { mayImport: [], vendors: ["kysely", "libsql", "pg"] },
      artifacts: { mayImport: [], vendors: ["@aws-sdk/client-s3"] },
      retention: { mayImport: [], vendors: [] },
    },
  },
  inference: {
    mayImport: ["base", "lib", "store"],
    rooms: {
      runtime: { mayImport: [], vendors: ["onnxruntime-node"] },
      model: { mayImport: [], vendors: [] },
      "chat-templates": { mayImport: [], vendors: [] },
      models: { mayImport: ["model", "chat-templates"], vendors: ["@huggingface/hub"] },
      engine: { mayImport: ["model", "runtime"], vendors: [] },
      remote: { mayImport: ["model", "engine"], vendors: [] },
      transfer: { mayImport: [], vendors: [] },
      chat: { mayImport: ["chat-templates", "models", "transfer"], vendors: [] },
    },
  },
  judge: {
    mayImport: ["base", "lib", "store"],
    rooms: {
      feedback: { mayImport: [], vendors: ["unicode-emoji-json"] },
      annotation: { mayImport: ["feedback"], vendors: [] },
      traces: { mayImport: ["feedback"], vendors: [] },
    },
  },
  train: {
    mayImport: ["base", "lib", "store", "inference"],
    rooms: {
      jobs: { mayImport: [], vendors: [] },
      files: { mayImport: [], vendors: [] },
      trajectories: { mayImport: [], vendors: [] },
      rewards: { mayImport: ["jobs"], vendors: [] },
      training: { mayImport: ["trajectories"], vendors: [] },
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
        vendors: ["openai", "@ai-sdk/openai-compatible", "@langchain/openai", "@openai/agents"],
        areas: [],
      },
      dashboard: { mayImport: ["client"], vendors: ["@preact/signals", "preact", "uplot"], areas: [] },
      backup: { mayImport: [], vendors: [] },
      server: { mayImport: ["backup"], vendors: [] },
      cli: { mayImport: ["client", "server"], vendors: ["commander"], areas: ["base", "lib"] },
    },
  },
};

const forbiddenNames = ["utils", "helpers", "common", "misc", "shared", "types", "constants"];

interface Source {
  /** Relative to the repository, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

function sources(): readonly Source[] {
  return readdirSync("src", { recursive: true })
    .map((name) => String(name).replaceAll("\\", "/"))
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => ({
      path: `src/${name}`,
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

/** The area and the room in which a file of src/ lies. */
function placeOf(path: string): readonly [area: string, room: string] {
  const [, area = "", room = ""] = path.split("/");
  return [area, room];
}

/** What is wrong with one import of one file, or null. */
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
});

/** What the tables allow of areas and rooms though no import needs it. */
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

test("the table allows nothing that no import needs, and only points upwards", () => {
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

/** A cell of the page's tables as a list. */
const listIn = (cell = ""): readonly string[] => (cell === "–" ? [] : cell.split(", ").toSorted());

test("docs/architecture.md shows the same tables", () => {
  const page = readFileSync("docs/architecture.md", "utf8");
  const areas = [...page.matchAll(/^\| \[`(\w+)\/`\]\([^)]*\) \|.*\| ([^|]*) \|$/gm)];
  assert.deepEqual(
    areas.map(([, area, mayImport]) => [area, listIn(mayImport)]),
    Object.entries(house).map(([area, { mayImport }]) => [area, mayImport.toSorted()]),
  );
  const rooms = [...page.matchAll(/^\| `(\w+)\/([\w-]+)\/` \|.*\| ([^|]*) \| ([^|]*) \|$/gm)];
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

test("each area has a page that says what it is", () => {
  for (const area of Object.keys(house)) {
    const page = readFileSync(join("src", area, "README.md"), "utf8");
    assert.ok(page.startsWith(`# ${area}\n`), area);
  }
});

/** The files and folders under src/ that a page names. */
function pathsIn(page: string): readonly string[] {
  return [...page.matchAll(/`([a-z]+)\/([a-z0-9-/]*)`/g)]
    .filter(([, area = ""]) => house[area] !== undefined)
    .map(([, area = "", rest = ""]) => posix.join("src", area, rest));
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
  assert.deepEqual(pathsIn("`api/gone` and `adapters/` and `lib/`"), ["src/api/gone", "src/lib"]);
  assert.equal(isThere("src/api/gone"), false);
});

test("the check refuses what it should refuse", () => {
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
    reached.filter((path) => !/^src\/(apps\/client|base\/domain|apps\/cli)\//.test(path)),
    [],
  );
});

test("commands load the server only once they run", () => {
  const atOnce = /^import (?!type\b)[^;]*?from "((?:\.\.\/)+server\/[^"]+)"/gm;
  const loaded = sources()
    .filter((source) => source.path.startsWith("src/apps/cli/") && !isTest(source.path))
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
    among: /^src\/(base\/domain|base\/validation|lib\/jinja|lib\/constraints)\//,
    allowed: [],
    example: 'import { readFile } from "node:fs/promises";',
  },
  {
    invariant: 1,
    pattern: /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(/,
    allowed: ["src/base/domain/clock.ts", "src/apps/client/platform.ts"],
    example: "const start = performance.now();",
  },
  {
    invariant: 1,
    pattern: /\bMath\.random\(|\brandomBytes\(|\brandomUUID\(/,
    allowed: ["src/base/domain/random.ts", "src/base/domain/ids.ts", "src/apps/client/platform.ts"],
    example: "const id = randomUUID();",
  },
  {
    invariant: 1,
    pattern: /\bprocess\.env\b/,
    // All but the first set what a library reads of it.
    allowed: [
      "src/apps/server/config.ts",
      "src/inference/runtime/environment.ts",
      "src/store/storage/sqlite/libsql-threads.ts",
    ],
    example: "const home = process.env.HOME;",
  },
  {
    invariant: 2,
    pattern: /"node:https?"|\bstatus(Code)?: [1-5]\d\d\b/,
    // The others are at the other end: they ask.
    allowed: ["src/api/http/", "src/api/webhooks/send-request.ts", "src/inference/remote/http/"],
    example: "return { status: 404 };",
  },
  {
    invariant: 3,
    pattern: /"\.[^"]*\/embedded\//,
    allowed: [
      // The process of the embedded trainer, and what starts it.
      "src/train/training/child-main.ts",
      "src/train/training/child-runner.ts",
    ],
    example: 'import type { Moments } from "../embedded/state-file.ts";',
  },
  {
    invariant: 4,
    pattern: /\basync\b|\bawait\b|\bPromise\b|\bClock\b|"node:/,
    among: /^src\/inference\/engine\/schedule\//,
    allowed: [],
    example: "export async function planStep() {}",
  },
  {
    invariant: 6,
    pattern: /\brender(Prompt|Conversation)\b[^}]*\} from "/,
    allowed: ["src/train/training/", "src/inference/chat/prompts/"],
    example: 'import { renderPrompt } from "../chat-templates/render-prompt.ts";',
  },
  {
    invariant: 6,
    pattern: /\bwritePrompt\(/,
    allowed: ["src/inference/chat/prompts/"],
    example: "const prompt = writePrompt(task, model);",
  },
  {
    invariant: 7,
    pattern: /"node:child_process"/,
    // `hone open` hands an address to the desktop, and waits for nothing of it.
    allowed: ["src/base/processes/", "src/apps/cli/commands/open.ts"],
    example: 'import { fork } from "node:child_process";',
  },
  {
    invariant: 13,
    pattern: /(?<!\w)\["(body|query)"/,
    // What reads JSON from bytes is given nothing but a body.
    allowed: ["src/api/wire/", "src/api/http/", "src/base/validation/json-body.ts"],
    example: 'const location = ["body", "batch"];',
  },
  {
    invariant: 14,
    pattern: /"libsql"|"\.[^"]*\/sqlite\/|"\.\/sqlite-|\bPRAGMA\b/,
    // Copies make the tables of an older version in memory, to see which those are.
    allowed: [
      "src/store/storage/sqlite/",
      "src/store/storage/copies/tables-of-version.ts",
      "src/apps/server/database-place.ts",
    ],
    example: 'import { openSqlite } from "../storage/sqlite/sqlite-dialect.ts";',
  },
  {
    invariant: 16,
    pattern: /\bdataFolder\b/,
    allowed: ["src/apps/server/", "src/store/storage/sqlite/"],
    example: 'const folder = join(dataFolder, "adapters");',
  },
  {
    invariant: 17,
    pattern: /(?<![.\w])fetch\(/,
    allowed: [
      "src/inference/models/library/hub/requests.ts",
      "src/apps/client/connection.ts",
      "src/train/training/tinker/http/connection.ts",
      "src/inference/transfer/fetch-prompt.ts",
      "src/access/users/id-tokens.ts",
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
    const path = absence.among === undefined ? "src/inference/chat/bad.ts" : "src/base/domain/bad.ts";
    const bad = {
      path: invariant === 4 ? "src/inference/engine/schedule/scheduler.ts" : path,
      text: example,
    };
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
  assert.equal(wayTo("onnxruntime-node", "src/apps/server/server.ts", files), null);
  for (const entry of ["src/inference/engine/embedded-main.ts", "src/train/training/child-main.ts"])
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
  const tooFull = [...counts].filter(([folder, count]) => count > (folder === "src/base/domain" ? 25 : 16));
  assert.deepEqual(tooFull, []);
});

test("no room holds more than 15 % of the lines", () => {
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
