// Searches the source for violations of docs/concepts/invariants.md: text that only a few files may contain, forbidden
// names, and merge conflict markers.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { posix } from "node:path";
import { test } from "node:test";
import { markdownFiles } from "./docs/page-blocks.ts";
import { type Source, sources, isProduct, importsOf, packageOf } from "./house-sources.ts";

const forbiddenNames = ["utils", "helpers", "common", "misc", "shared", "types", "constants"];

test("no file or folder has a meaningless name", () => {
  const faults = sources().filter((source) =>
    source.path.split("/").some((part) => forbiddenNames.includes(part.replace(/(\.test)?\.ts$/, ""))),
  );
  assert.deepEqual(
    faults.map((source) => source.path),
    [],
  );
});

test("no page contains merge conflict markers", () => {
  const pages = markdownFiles();
  assert.ok(pages.includes("CHANGELOG.md") && pages.includes("docs/concepts/training.md"));
  assert.deepEqual(
    pages.filter((page) => /^(<{7}|>{7}) /m.test(readFileSync(page, "utf8"))),
    [],
  );
});

/** A text that only certain files may contain, according to an invariant of docs/concepts/invariants.md. */
interface Absence {
  readonly invariant: number;
  readonly pattern: RegExp;
  /** Pattern of the product files to search; all of `src/` if absent. */
  readonly among?: RegExp;
  /** Files and folders that may contain the text. */
  readonly allowed: readonly string[];
  /** An example of a text that the pattern matches. */
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
    allowed: ["src/base/domain/random.ts", "src/apps/client/platform.ts"],
    example: "const id = randomUUID();",
  },
  {
    invariant: 1,
    pattern: /\bprocess\.env\b/,
    // The first file reads the environment; the next two set variables that a library reads; the last one writes code
    // for users to copy.
    allowed: [
      "src/apps/server/config.ts",
      "src/inference/onnx/environment.ts",
      "src/store/database/sqlite/sqlite-searches.ts",
      "src/apps/dashboard/chat/request-code.ts",
    ],
    example: "const home = process.env.HOME;",
  },
  {
    invariant: 2,
    pattern: /"node:https?"|\bstatus(Code)?: [1-5]\d\d\b/,
    allowed: ["src/api/http/"],
    example: "return { status: 404 };",
  },
  {
    invariant: 3,
    pattern: /"\.[^"]*\/embedded\//,
    allowed: [
      // Allowed: the memory estimate for the embedded trainer, the trainer's processes, and the code that starts such a
      // process.
      "src/apps/server/model-fit/",
      "src/train/sessions/process/session-main.ts",
      "src/train/trainer/child-main.ts",
      "src/train/trainer/child-runner.ts",
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
    allowed: ["src/train/trainer/", "src/inference/chat/prompts/"],
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
    // `hone open` passes an address to the desktop and does not wait. `hone rollout run` and `hone start` run the
    // user's command.
    allowed: ["src/base/processes/", "src/apps/cli/commands/open.ts", "src/apps/cli/rollouts/run-command.ts"],
    example: 'import { fork } from "node:child_process";',
  },
  {
    invariant: 13,
    pattern: /(?<!\w)\["(body|query)"/,
    // `json-body.ts` is allowed, because it parses nothing but request bodies.
    allowed: ["src/api/wire/", "src/api/http/", "src/base/validation/json-body.ts"],
    example: 'const location = ["body", "batch"];',
  },
  {
    invariant: 14,
    pattern: /"libsql"|"\.[^"]*\/sqlite\/|"\.\/sqlite-|\bPRAGMA\b/,
    // `tables-of-version.ts` is allowed: it creates an older version's tables in memory, in order to list them.
    allowed: [
      "src/store/database/sqlite/",
      "src/store/database/dump/tables-of-version.ts",
      "src/apps/server/database-place.ts",
    ],
    example: 'import { openSqlite } from "../storage/sqlite/sqlite-dialect.ts";',
  },
  {
    invariant: 16,
    pattern: /\bdataFolder\b/,
    allowed: ["src/apps/server/", "src/store/database/sqlite/"],
    example: 'const folder = join(dataFolder, "adapters");',
  },
  {
    invariant: 17,
    pattern: /(?<![.\w])fetch\(/,
    allowed: ["src/apps/client/connection.ts"],
    example: "const answer = await fetch(url);",
  },
  {
    invariant: 17,
    pattern: /\bnew HttpClient\(/,
    allowed: [
      "src/api/webhooks/send-request.ts",
      "src/inference/models/library/hub/requests.ts",
      "src/inference/vllm/client/vllm-server.ts",
      "src/train/trainer/tinker/http/connection.ts",
      "src/inference/kv-transfer/fetch-prompt.ts",
      "src/access/users/id-tokens.ts",
    ],
    example: "const client = new HttpClient();",
  },
];

/** Returns the files outside the allowed ones that contain the text. */
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

test("each checked invariant is on the page", () => {
  const page = readFileSync("docs/concepts/invariants.md", "utf8");
  for (const { invariant } of absences) assert.match(page, new RegExp(`^${invariant}\\. \\*\\*`, "m"));
});

test("text that an invariant restricts to some files occurs only there", () => {
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

/** Returns the modules that a source loads. Type imports and the entry files of threads and processes do not count. */
function loadedBy(text: string): readonly string[] {
  return importsOf(text.replaceAll(/\b(import|export) type\s[^;]*;/g, ""));
}

/** Returns the chain of imports from a file to a package, or null if there is none. */
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

test("invariant 7: only engine and trainer processes load native compute", () => {
  const files = new Map(sources().map(({ path, text }) => [path, text]));
  assert.equal(wayTo("onnxruntime-node", "src/apps/server/server.ts", files), null);
  for (const entry of [
    "src/inference/engine/embedded-main.ts",
    "src/train/trainer/child-main.ts",
    "src/train/sessions/process/session-main.ts",
  ])
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
