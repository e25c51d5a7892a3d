// Lists the files and functions that run for a streamed chat and for a reinforcement learning job, grouped by area: the
// code that a maintainer must know to follow one request. V8 counts the calls of every function (NODE_V8_COVERAGE) in
// the server's process, its children and their threads. A function is listed if it was called more often than in each
// of three idle servers.
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Hone } from "../../src/apps/client/hone.ts";
import { ownFolder } from "./run-bench.ts";
import { serveBuild, untilWell, type LocalBuild } from "./served-build.ts";

/**
 * Number of calls of each function. A key names the function by its file in `dist/src` (without the extension) and its
 * position in that file.
 */
type Calls = ReadonlyMap<string, number>;

interface Walk {
  readonly name: string;
  /** Counts per area, sorted by number of functions in descending order. */
  readonly areas: readonly AreaCount[];
  readonly files: readonly FileCount[];
  readonly fileCount: number;
  readonly functionCount: number;
}

interface AreaCount {
  readonly area: string;
  readonly files: number;
  readonly functions: number;
}

interface FileCount {
  readonly file: string;
  readonly functions: number;
}

const help = `Usage: node dist/tools/bench/walks.js [options]
Counts by area the files and functions that run for a streamed chat and for an RL job.

  --build <folder>  folder of another built checkout to measure
  --files           also print each file
  --json            print JSON
  --help            print this help
`;

/**
 * Lengths of the two answers in tokens. The difference identifies functions that run for every token: the longer
 * answer calls them more often, at least once for every second additional token.
 */
const [shortAnswer, longAnswer] = [12, 44];
/**
 * Lifetime of an idle server in milliseconds. It is longer than that of a server under requests, so its timers fire at
 * least as often.
 */
const idleMs = 12_000;
const idleStarts = 3;

const { values } = parseArgs({
  options: {
    build: { type: "string", default: ownFolder },
    files: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help) process.stdout.write(help);
else {
  const walks = await measure(resolve(values.build));
  process.stdout.write(values.json ? `${JSON.stringify(walks, null, 2)}\n` : walks.map(textOf).join("\n"));
}

async function measure(folder: string): Promise<readonly Walk[]> {
  const idle: Calls[] = [];
  for (let start = 0; start < idleStarts; start++) idle.push(await callsOf(folder, () => sleep(idleMs)));
  const usual = greatest(idle);
  const chat = above(await callsOf(folder, (server) => streamChat(server, shortAnswer)), usual);
  const longChat = above(await callsOf(folder, (server) => streamChat(server, longAnswer)), usual);
  const job = above(await callsOf(folder, runJob), usual);
  const least = (longAnswer - shortAnswer) / 2;
  const perToken = [...longChat].filter(([place, count]) => count - (chat.get(place) ?? 0) >= least);
  return [
    walkOf(`a streamed chat of ${shortAnswer} tokens`, chat),
    walkOf("of these, functions that run for every token", new Map(perToken)),
    walkOf("an RL job of three trajectories", job),
  ];
}

/** Returns the calls during a server's whole life; `use` sends the requests. */
async function callsOf(folder: string, use: (server: LocalBuild) => Promise<unknown>): Promise<Calls> {
  const coverage = mkdtempSync(join(tmpdir(), "hone-walks-"));
  process.env["NODE_V8_COVERAGE"] = coverage;
  try {
    const modelFolder = join(ownFolder, "models", "hone-tiny");
    // Sends each token separately, because tokens sent together would count as one call.
    const limits = { engine: { eventIntervalMs: 0 } };
    const server = await serveBuild(folder, { modelFolder, threads: 1, limits });
    try {
      await untilWell(server.url);
      await use(server);
    } finally {
      await server.stop();
    }
    return readCalls(coverage);
  } finally {
    delete process.env["NODE_V8_COVERAGE"];
    rmSync(coverage, { recursive: true });
  }
}

async function streamChat({ url, apiKey }: LocalBuild, tokens: number): Promise<void> {
  const client = new Hone({ baseUrl: url, apiKey });
  const messages = [{ role: "user" as const, content: "Tell me a story about a lighthouse." }];
  const length = { min_tokens: tokens, max_tokens: tokens };
  let chunks = 0;
  for await (const { choices } of client.chat.stream({ model: "endless", messages, ...length }))
    chunks += choices.length;
  if (chunks < tokens) throw new Error(`The answer of ${tokens} tokens came in ${chunks} chunks.`);
}

async function runJob({ url, apiKey }: LocalBuild): Promise<void> {
  const client = new Hone({ baseUrl: url, apiKey });
  const model = await client.models.create({ project: "bench", name: "walks", base_model: "endless" });
  const trajectories = ["yes", "no", "maybe"].map((content, index) => ({
    messages_and_choices: [
      { role: "user", content: "Is it so?" },
      { finish_reason: "stop", index: 0, message: { role: "assistant", content }, logprobs: null },
    ],
    reward: index,
  }));
  const { id } = await client.jobs.create({ model_id: model.id, trajectory_groups: [{ trajectories }] });
  for await (const { type, data } of client.jobs.watch(id)) {
    if (type === "training_failed") throw new Error(`The job failed: ${data["error_message"]}`);
    if (type === "training_ended") return;
  }
}

/** V8's coverage report of a process or thread. */
interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly functionName: string;
      readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
    }[];
  }[];
}

function readCalls(folder: string): Calls {
  const calls = new Map<string, number>();
  for (const name of readdirSync(folder)) {
    // Safe cast: V8 wrote the file.
    const { result } = JSON.parse(readFileSync(join(folder, name), "utf8")) as Coverage;
    for (const { url, functions } of result) {
      const file = fileIn(url);
      if (file === null) continue;
      for (const { ranges } of functions) {
        const [{ startOffset, count }] = ranges;
        // V8 reports the module itself as a function at offset 0.
        if (count === 0 || startOffset === 0) continue;
        const place = `${file} ${startOffset}`;
        calls.set(place, (calls.get(place) ?? 0) + count);
      }
    }
  }
  return calls;
}

/** Returns the path below `dist/src` of the module with this URL; null if the module is not in that folder. */
function fileIn(url: string): string | null {
  if (!url.startsWith("file:")) return null;
  return /\/dist\/src\/(.*)\.js$/.exec(fileURLToPath(url).replaceAll("\\", "/"))?.[1] ?? null;
}

function greatest(several: readonly Calls[]): Calls {
  const most = new Map<string, number>();
  for (const calls of several)
    for (const [place, count] of calls) most.set(place, Math.max(count, most.get(place) ?? 0));
  return most;
}

/** Returns, for each function that was called more often than usual, the number of additional calls. */
function above(calls: Calls, usual: Calls): Calls {
  const more = [...calls].map(([place, count]) => [place, count - (usual.get(place) ?? 0)] as const);
  return new Map(more.filter(([, count]) => count > 0));
}

function walkOf(name: string, calls: Calls): Walk {
  const functions = new Map<string, number>();
  for (const place of calls.keys()) {
    const [file] = place.split(" ");
    functions.set(file, (functions.get(file) ?? 0) + 1);
  }
  const files = [...functions]
    .map(([file, count]) => ({ file, functions: count }))
    .sort((one, other) => one.file.localeCompare(other.file));
  const areas = new Map<string, AreaCount>();
  for (const { file, functions: count } of files) {
    const [area] = file.split("/");
    const before = areas.get(area) ?? { area, files: 0, functions: 0 };
    areas.set(area, { area, files: before.files + 1, functions: before.functions + count });
  }
  return {
    name,
    areas: [...areas.values()].sort((one, other) => other.functions - one.functions),
    files,
    fileCount: files.length,
    functionCount: calls.size,
  };
}

function textOf({ name, areas, files, fileCount, functionCount }: Walk): string {
  const row = (label: string, fileTotal: number, functionTotal: number): string =>
    `  ${label.padEnd(12)}${String(fileTotal).padStart(5)} files${String(functionTotal).padStart(6)} functions`;
  return [
    name,
    ...areas.map((each) => row(each.area, each.files, each.functions)),
    row("total", fileCount, functionCount),
    ...(values.files ? files.map((each) => `    ${each.file} (${each.functions})`) : []),
    "",
  ].join("\n");
}
