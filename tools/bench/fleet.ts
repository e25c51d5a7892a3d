// Sends 10,000 requests to a fleet of eight servers for one model. Reports how evenly the requests are distributed, how
// many reach a server that has their prefix cached, and what happens to requests when servers crash, hang, fail or
// drain. Exits with status 1 if a request was lost or got a wrong answer.
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { pathToFileURL } from "node:url";
import type { FleetFigures } from "../../src/inference/vllm/testing/fleet-shares.ts";
import { simulateChoice, type ChoiceLoad } from "../../src/inference/vllm/testing/simulated-choice.ts";
import { simulateFleet, type FleetLoad } from "../../src/inference/vllm/testing/simulated-fleet.ts";
import { createPostgres } from "../../src/store/database/testing/postgres-databases.ts";
import { runTrainedFleet } from "../../test/fleets/run-trained-fleet.ts";

const help = `Usage: node dist/tools/bench/fleet.js [flags]
Sends 10,000 requests to eight stub vLLM servers that fail and recover. Prints how evenly the requests are distributed, and how
many requests reach a server that has their prefix cached.

  --requests <count>   number of requests per case, 1000 to 1000000 (default 10000)
  --jobs <count>       instead use two Hone servers on one PostgreSQL database, and run this many training jobs on two stub
                       trainers, 1 to 1000
  --models <count>     number of models to spread the jobs over; the jobs of a model run in sequence, 1 to 100 (default 10)
  --virtual            simulate in virtual time without HTTP, with up to a hundred replicas
  --seed <number>      seed of prompts and failures (default 1)
  --json               print JSON
  --help               print this help`;

const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "10000" },
    jobs: { type: "string" },
    models: { type: "string", default: "10" },
    virtual: { type: "boolean", default: false },
    seed: { type: "string", default: "1" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

if (values.help) process.stdout.write(`${help}\n`);
else {
  const requestCount = countOf("requests", 1000, 1_000_000);
  const seed = countOf("seed", 0, 2 ** 31);
  if (values.virtual) runVirtual(requestCount, seed);
  else if (values.jobs !== undefined) await runTrained(requestCount, seed);
  else await runServers(requestCount, seed);
}

/**
 * Runs stub servers over HTTP in this process that are as slow as vLLM. Measures which server answers each request, not
 * how fast.
 */
async function runServers(requestCount: number, seed: number): Promise<void> {
  const load = { requestCount, promptCount: 2000, firstTokenSeconds: 3, seed };
  const cases: readonly (FleetLoad & { readonly name: string })[] = [
    { ...load, name: "no failures", concurrency: 64, illnessCount: 0 },
    { ...load, name: "high load", concurrency: 256, illnessCount: 0 },
    { ...load, name: "few prompts", concurrency: 64, promptCount: 500, illnessCount: 0 },
    { ...load, name: "servers fail", concurrency: 64, illnessCount: 12 },
  ];
  for (const each of cases) {
    const report = await simulateFleet(each);
    const { answeredCount, refusedCounts, wrongCount } = report;
    if (wrongCount > 0) process.exitCode = 1;
    print({ ...each, ...report }, [
      `${each.name}: ${answeredCount} of ${requestCount} answered, ${wrongCount} of them wrong, refused: ${listed(refusedCounts)}`,
      ...figuresOf(report),
    ]);
  }
}

/**
 * Runs two Hone servers on one PostgreSQL database with two stub trainers. The trainers fail at times, like the
 * servers.
 */
async function runTrained(requestCount: number, seed: number): Promise<void> {
  const jobCount = countOf("jobs", 1, 1000);
  const modelCount = countOf("models", 1, 100);
  const log = (line: string): void => void process.stderr.write(`${line}\n`);
  const server = await startDatabase(log);
  if (server === null) throw new Error("PostgreSQL is not installed; see CONTRIBUTING.md.");
  const { url, drop } = await createPostgres(server);
  try {
    const plan = {
      requestCount,
      jobCount,
      modelCount,
      concurrency: 32,
      illnessCount: 12,
      trainerSoundCount: 80,
    };
    const report = await runTrainedFleet({ ...plan, seed, databaseUrl: url, log });
    const { wrong, lost, unserved, sentCount, answeredCount, refusedCounts, versionCount } = report;
    const faults = [...wrong, ...lost, ...unserved];
    if (faults.length > 0) process.exitCode = 1;
    print({ ...plan, ...report }, [
      `${answeredCount} of ${sentCount} answered, refused: ${listed(refusedCounts)}; ${versionCount} versions of ${jobCount} jobs, ` +
        `${report.loadCount} adapter loads, ${report.trainerIllnessCount} trainer failures; ${report.seconds.toFixed(0)} s`,
      ...figuresOf(report),
      ...faults.map((fault) => `  ${fault}`),
    ]);
  } finally {
    await drop();
  }
}

/** Simulates fleets in virtual time, including fleets too large for one machine. */
function runVirtual(requestCount: number, seed: number): void {
  const deaths = { everyCount: null, forMs: 1000, lookMs: 100 };
  const eight = {
    replicaCount: 8,
    chooserCount: 1,
    requestCount,
    concurrency: 64,
    promptCount: 2000,
    tokenCount: 4,
    deaths,
    seed,
  };
  const dying = { ...deaths, everyCount: 800 };
  const cases: readonly (ChoiceLoad & { readonly name: string })[] = [
    { ...eight, name: "8 replicas" },
    { ...eight, name: "8 replicas, 500 prompts", promptCount: 500 },
    { ...eight, name: "8 crashing replicas", deaths: dying },
    { ...eight, name: "8 crashing replicas, 4 Hone servers", chooserCount: 4, deaths: dying },
    {
      ...eight,
      name: "100 replicas, 4 Hone servers",
      replicaCount: 100,
      chooserCount: 4,
      requestCount: 24 * requestCount,
      concurrency: 3200,
      promptCount: 25_000,
    },
  ];
  for (const { name, ...load } of cases) {
    const cpu = process.cpuUsage();
    const report = simulateChoice(load);
    const { user, system } = process.cpuUsage(cpu);
    const choiceMs = (user + system) / 1000 / load.requestCount;
    print({ name, ...load, ...report }, [
      `${name}: ${load.requestCount} requests, ${report.perSecond.toFixed(0)} per second, ${report.lostCount} lost; ` +
        `${choiceMs.toFixed(3)} ms of processor time each, including the simulation`,
      ...figuresOf(report),
    ]);
  }
}

function figuresOf({
  unevenness,
  plainUnevenness,
  affinity,
  plainAffinity,
  reuse,
}: FleetFigures): readonly string[] {
  const percent = (part: number): string => `${(100 * part).toFixed(1)} %`;
  return [
    `  deviation from a fair share: at most ${percent(unevenness)} (from equal shares for all servers: ${percent(plainUnevenness)})`,
    `  answered by the prompt's preferred server: ${percent(affinity)} (by the server that answered most of the prompt's requests: ${percent(plainAffinity)}), ` +
      `by a server with the prompt cached, if any had it: ${percent(reuse)}`,
  ];
}

function listed(counts: Readonly<Record<string, number>>): string {
  return (
    Object.entries(counts)
      .map(([reason, count]) => `${count} ${reason}`)
      .join(", ") || "none"
  );
}

function print(report: object, lines: readonly string[]): void {
  process.stdout.write(values.json ? `${JSON.stringify(report)}\n` : `${lines.join("\n")}\n`);
}

function countOf(flag: "requests" | "jobs" | "models" | "seed", least: number, most: number): number {
  const count = Number(values[flag]);
  if (Number.isInteger(count) && count >= least && count <= most) return count;
  throw new Error(
    `--${flag} is ${JSON.stringify(values[flag])}; it must be an integer from ${least} to ${most}`,
  );
}

/** Starts PostgreSQL through a script that is not part of the build. */
async function startDatabase(say: (text: string) => void): Promise<string | null> {
  const script = pathToFileURL(resolve("scripts/postgres.js")).href;
  const { startPostgres } = (await import(script)) as {
    readonly startPostgres: (say: (text: string) => void) => string | null;
  };
  return startPostgres(say);
}
