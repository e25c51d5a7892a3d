// Sends 10,000 requests to a fleet of eight servers behind one model. Reports how evenly the requests are distributed,
// how many reach a server that has their prefix cached, and what happens to requests while servers crash, hang, fail
// and drain. Exits with status 1 if a request was lost or got a wrong answer.
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { pathToFileURL } from "node:url";
import type { FleetFigures } from "../../src/inference/vllm/testing/fleet-shares.ts";
import { simulateChoice, type ChoiceLoad } from "../../src/inference/vllm/testing/simulated-choice.ts";
import { simulateFleet, type FleetLoad } from "../../src/inference/vllm/testing/simulated-fleet.ts";
import { createPostgres } from "../../src/store/database/testing/postgres-databases.ts";
import { runTrainedFleet } from "../../test/fleets/run-trained-fleet.ts";

const help = `Usage: node dist/tools/bench/fleet.js [flags]
10,000 requests to eight stub servers of vLLM that fall ill and get well: how even their shares are, and how many requests go to
what was computed before.

  --requests <count>   of each case, 1000 to 1000000 (default 10000)
  --jobs <count>       the same before two servers of Hone on a PostgreSQL, with so many jobs on two stub trainers, 1 to 1000
  --models <count>     of those jobs, one after the other for each, 1 to 100 (default 10)
  --virtual            without HTTP and in virtual time, a hundred replicas among them
  --seed <number>      of prompts and illnesses (default 1)
  --json               print JSON
  --help               print this`;

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
 * Runs stub servers in this process over HTTP that are as slow as vLLM. This measures which server answers, not how
 * fast it is.
 */
async function runServers(requestCount: number, seed: number): Promise<void> {
  const load = { requestCount, promptCount: 2000, firstTokenSeconds: 3, seed };
  const cases: readonly (FleetLoad & { readonly name: string })[] = [
    { ...load, name: "all are well", concurrency: 64, illnessCount: 0 },
    { ...load, name: "much to do", concurrency: 256, illnessCount: 0 },
    { ...load, name: "few prompts", concurrency: 64, promptCount: 500, illnessCount: 0 },
    { ...load, name: "servers fall ill", concurrency: 64, illnessCount: 12 },
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

/** Runs two Hone servers on one PostgreSQL database with two stub trainers; the trainers fail too. */
async function runTrained(requestCount: number, seed: number): Promise<void> {
  const jobCount = countOf("jobs", 1, 1000);
  const modelCount = countOf("models", 1, 100);
  const log = (line: string): void => void process.stderr.write(`${line}\n`);
  const server = await startDatabase(log);
  if (server === null) throw new Error("There is no PostgreSQL; see CONTRIBUTING.md.");
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
        `${report.loadCount} loads, trainers fell ill ${report.trainerIllnessCount} times; ${report.seconds.toFixed(0)} s`,
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
    { ...eight, name: "8 replicas that die", deaths: dying },
    { ...eight, name: "8 replicas that die, 4 servers of Hone", chooserCount: 4, deaths: dying },
    {
      ...eight,
      name: "100 replicas, 4 servers of Hone",
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
      `${name}: ${load.requestCount} requests, ${report.perSecond.toFixed(0)} a second, ${report.lostCount} lost; ` +
        `${choiceMs.toFixed(3)} ms of the processor for each, with the simulation`,
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
    `  off a fair share by ${percent(unevenness)} at most (of all servers alike: ${percent(plainUnevenness)})`,
    `  at the first server of their prompt's order ${percent(affinity)} (at one server: ${percent(plainAffinity)}), ` +
      `where it was computed already ${percent(reuse)}`,
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
    `--${flag} is ${JSON.stringify(values[flag])}; it takes a whole number from ${least} to ${most}`,
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
