// Keeps a server under random load for a given time, and reports its memory and the slots still in use: `node
// dist/tools/bench/soak.js --minutes 60`. Exits with status 1 if a request failed, a slot was not released, or memory
// grew too much.
import { parseArgs } from "node:util";
import { systemClock } from "../../src/base/domain/clock.ts";
import { freshSeed } from "../../src/base/domain/random.ts";
import { busyGauges } from "../../test/idle-gauges.ts";
import {
  newDataFolder,
  removeDataFolder,
  startServer,
  type RunningServer,
} from "../../test/running-server.ts";
import { unexpectedLines } from "../../test/unexpected-lines.ts";
import { MemoryRecord, type Growth } from "./soak/memory-record.ts";
import { SoakClients, type SoakCounts } from "./soak/soak-clients.ts";

/** Maximum relative growth of memory; more counts as a leak. */
const growthMax = 0.02;
/** Share of the run that counts as warm-up. Afterwards, everything that is loaded on first use is in memory. */
const warmUpShare = 0.25;
const sampleMs = 2000;
const progressMs = 60_000;
/** Maximum number of failures and of log lines in the text report. */
const shownMax = 10;

const help = `Usage: node dist/tools/bench/soak.js [flags]
Keeps a server busy over HTTP. 12 clients send random requests: chats, completions and responses, with short and long prompts, all
sampling options, log-probabilities, beam search, constraints and streams. A quarter of them disconnect before the answer is
complete. Meanwhile adapters of three models are published and deleted. Prints progress every minute. At the end, prints the
failures, gauges of work in progress that are not 0, and the resident memory of the server and its engine with a chart: its growth
from the first to the last fifth of the time after the warm-up (a quarter). Ctrl-C ends the run early with its report.

  --minutes <count>    duration (default 60)
  --model <path>       model folder or GGUF file (default: the built-in model)
  --quantize <8|4>     weight precision of the model in bits
  --seed <seed>        seed that selects the requests (default: random)
  --flag <serve flag>  flag for the server, such as --flag=--engine-scheduling=fcfs; can be repeated
  --json               print JSON
  --help               print this help`;

interface SoakReport extends SoakCounts {
  readonly seed: number;
  readonly minutes: number;
  readonly growths: readonly Growth[];
  /** Gauges that should be 0 after all requests have ended but are not, one per line. */
  readonly held: readonly string[];
  /** Lines in the server's log, except those about refused requests. */
  readonly logged: readonly string[];
  /** Number of times that the engine's process was replaced. */
  readonly engineRestarts: number;
}

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "60" },
    model: { type: "string", default: "models/hone-tiny" },
    quantize: { type: "string", default: "off" },
    seed: { type: "string" },
    flag: { type: "string", multiple: true, default: [] },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help) process.stdout.write(`${help}\n`);
else {
  const report = await soak(Number(values.seed ?? freshSeed()));
  process.stdout.write(values.json ? `${JSON.stringify(report, null, 2)}\n` : textOf(report));
  process.exitCode = isClean(report) ? 0 : 1;
}

async function soak(seed: number): Promise<SoakReport> {
  const dataFolder = newDataFolder();
  const flags = ["--model", `tiny=${values.model}`, "--built-in-model=off", `--quantize=${values.quantize}`];
  // A small KV cache, so that the prefix cache soon has to evict entries.
  flags.push("--engine-scheduling=priority", `--engine-kv-cache-bytes-max=${2 ** 28}`, ...values.flag);
  const server = await startServer({ dataFolder, flags });
  try {
    const clients = new SoakClients(server, seed);
    const early = (): void => clients.end();
    process.once("SIGINT", early);
    const busy = clients.run();
    const watched = await watch(server, clients, busy);
    process.removeListener("SIGINT", early);
    const held = await busyGauges(server);
    return { seed, ...watched, ...clients.counts, held, logged: unexpectedLines(server.output()) };
  } finally {
    await server.kill();
    removeDataFolder(dataFolder);
  }
}

/** Samples memory until the time is over or the clients end. */
async function watch(
  server: RunningServer,
  clients: SoakClients,
  busy: Promise<void>,
): Promise<Pick<SoakReport, "minutes" | "growths" | "engineRestarts">> {
  const record = new MemoryRecord(server.process.pid ?? 0);
  const startMs = systemClock.monotonicMs();
  const wantedMs = 60_000 * Number(values.minutes);
  const engines = new Set(record.engineIds());
  const known = engines.size;
  let toldMs = 0;
  const over = new AbortController();
  const ended = busy.finally(() => over.abort());
  // Prevents an unhandled rejection; the wait below reports the failure.
  ended.catch(() => undefined);
  let elapsedMs = 0;
  while (!over.signal.aborted && elapsedMs < wantedMs) {
    await Promise.race([systemClock.sleep(sampleMs), ended.catch(() => undefined)]);
    elapsedMs = systemClock.monotonicMs() - startMs;
    const { mebibytes } = record.take(elapsedMs / 1000);
    for (const id of record.engineIds()) engines.add(id);
    if (elapsedMs - toldMs < progressMs) continue;
    toldMs = elapsedMs;
    const minutes = Math.round(elapsedMs / 60_000);
    const memory = `server ${mebibytes.server.toFixed(0)} MiB, engine ${mebibytes.engine.toFixed(0)} MiB`;
    process.stderr.write(
      `${minutes} of ${values.minutes} minutes: ${countText(clients.counts)}; ${memory}\n`,
    );
  }
  clients.end();
  await ended;
  return {
    minutes: elapsedMs / 60_000,
    growths: record.growths((warmUpShare * elapsedMs) / 1000),
    engineRestarts: engines.size - known,
  };
}

function isClean({ failures, held, logged, growths, engineRestarts }: SoakReport): boolean {
  const isSteady = growths.every(({ growth }) => growth < growthMax);
  return failures.length + held.length + logged.length + engineRestarts === 0 && isSteady;
}

function countText({ answered, left, refused, published, removed, failures }: SoakCounts): string {
  return (
    `${answered} answered, ${left} disconnected, ${refused} refused as overloaded, ${published} versions published, ` +
    `${removed} deleted, ${failures.length} failed`
  );
}

function textOf(report: SoakReport): string {
  const { seed, minutes, growths, held, logged, failures, engineRestarts } = report;
  return [
    `seed ${seed}, ${minutes.toFixed(1)} minutes: ${countText(report)}`,
    held.length === 0 ? "no work in progress at the end" : `still in progress at the end: ${held.join(", ")}`,
    `the engine was restarted ${engineRestarts} times`,
    ...growths.flatMap(({ process: name, firstMebibytes, lastMebibytes, growth, picture }) => [
      `resident memory of the ${name}'s process: ${firstMebibytes.toFixed(0)} MiB at first, ${lastMebibytes.toFixed(0)} MiB at the end: ${(100 * growth).toFixed(1)} %`,
      ...picture,
    ]),
    ...failures.slice(0, shownMax).map((line) => `failed: ${line}`),
    ...logged.slice(0, shownMax).map((line) => `logged: ${line}`),
    "",
  ].join("\n");
}
