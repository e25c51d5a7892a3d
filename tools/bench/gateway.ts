// Measures the latency that Hone adds in front of vLLM servers. Compares it with a reverse proxy that only pipes data
// to the same stub servers. The load generator and each compared system run in separate processes on one machine.
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { present } from "../../src/base/domain/assert.ts";
import { residentBytes } from "../../test/process-tree.ts";
import type { Load, LoadReport, LoadTarget } from "./gateway/load.ts";
import { ownFolder } from "./run-bench.ts";
import { cpuSecondsOf, serveBuild, type LocalBuild, untilWell } from "./served-build.ts";

const help = `Usage: node dist/tools/bench/gateway.js [flags]
Runs Hone in front of stub vLLM servers, and requests streamed answers of 16 tokens at a rate that does not wait for answers
(a Poisson process): completions with token ids, and chats. The same answers are requested from the stubs directly and through
a reverse proxy that only pipes data; the sides alternate. Prints p50 and p99 of the milliseconds to the first bytes and to the
end of an answer over all rounds, the latency that Hone and the proxy add, their ratio, and the processor time per request.
Then runs many concurrent streams through Hone and the proxy, and prints how many finish, how many have wrong tokens, and how
many arrive in pieces. Prints the memory of Hone's process after the warm-up, halfway through, and at the end.

  --rate <count>           requests per second (default 500)
  --seconds <count>        duration of each side in each round (default 10)
  --rounds <count>         number of rounds (default 3)
  --streams <count>        number of concurrent streams (default 1000; 0 skips them)
  --stream-tokens <count>  tokens per stream, 100 ms apart (default 100)
  --servers <count>        number of stub servers (default 4)
  --hone <folder>          build of Hone to measure (default: this one)
  --json                   print JSON
  --help                   print this help`;

const answerLength = 16;
const streamStepMs = 100;

interface Flags {
  readonly rate: number;
  readonly seconds: number;
  readonly rounds: number;
  readonly streams: number;
  readonly streamTokens: number;
  readonly servers: number;
  readonly hone: string;
}

/** A compared system, with its process if processor time is measured. */
interface Side {
  readonly name: "stubs" | "bare proxy" | "Hone, completions" | "Hone, chats";
  readonly target: LoadTarget;
  readonly processId: number | null;
}

interface Percentiles {
  readonly p50: number;
  readonly p99: number;
}

interface RateReport {
  readonly name: Side["name"];
  readonly firstMs: Percentiles;
  readonly wholeMs: Percentiles;
  /** Time to the end of a response, minus that of a direct request to the stub servers. */
  readonly addedMs: Percentiles;
  /** Median time to the end of a response, divided by that of the bare proxy. */
  readonly ratioToProxy: number;
  readonly cpuMicrosecondsPerRequest: number | null;
  readonly wrongCount: number;
  readonly failures: Readonly<Record<string, number>>;
}

interface StreamReport {
  readonly name: Side["name"];
  readonly finishedCount: number;
  /** Number of streams that arrived in more than one piece. Such a stream was not buffered as a whole on its way. */
  readonly streamedCount: number;
  readonly wrongCount: number;
  readonly failures: Readonly<Record<string, number>>;
  readonly firstMs: Percentiles;
  readonly wholeMs: Percentiles;
}

interface GatewayReport {
  readonly rates: readonly RateReport[];
  readonly streams: readonly StreamReport[];
  /**
   * Memory of Hone's process in mebibytes: after the warm-up, halfway through the requests, after the requests, and
   * after the streams.
   */
  readonly memoryMebibytes: readonly number[];
}

const { values } = parseArgs({
  options: {
    rate: { type: "string", default: "500" },
    seconds: { type: "string", default: "10" },
    rounds: { type: "string", default: "3" },
    streams: { type: "string", default: "1000" },
    "stream-tokens": { type: "string", default: "100" },
    servers: { type: "string", default: "4" },
    hone: { type: "string", default: ownFolder },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

if (values.help) process.stdout.write(`${help}\n`);
else {
  const report = await measure({
    rate: countOf("rate", 1, 100_000),
    seconds: countOf("seconds", 1, 3600),
    rounds: countOf("rounds", 1, 1000),
    streams: countOf("streams", 0, 100_000),
    streamTokens: countOf("stream-tokens", 1, 900),
    servers: countOf("servers", 1, 64),
    hone: values.hone,
  });
  process.stdout.write(values.json ? `${JSON.stringify(report, null, 2)}\n` : textOf(report));
}

type CountFlag = Exclude<keyof typeof values, "hone" | "json" | "help">;

function countOf(flag: CountFlag, least: number, most: number): number {
  const count = Number(values[flag]);
  if (Number.isInteger(count) && count >= least && count <= most) return count;
  throw new Error(`--${flag} is ${values[flag]}; it must be an integer from ${least} to ${most}`);
}

async function measure(flags: Flags): Promise<GatewayReport> {
  const children: ChildProcess[] = [];
  let hone: LocalBuild | null = null;
  try {
    const stubs = forked(children, "stub-servers", [`${flags.servers}`]);
    const urls = (await told(stubs)) as readonly string[];
    const proxy = forked(children, "bare-proxy", urls);
    const proxyUrl = (await told(proxy)) as string;
    const load = forked(children, "load-process", []);
    hone = await serveBuild(flags.hone, {
      modelFolder: `vllm+${urls.join(",")}?files=${join(flags.hone, "models", "hone-tiny")}`,
      threads: 1,
      flags: ["--built-in-model", "off"],
      limits: { http: { requestsPerKey: flags.streams + 1000 } },
    });
    await untilWell(hone.url);
    const honeTarget = { urls: [hone.url], authorization: `Bearer ${hone.apiKey}` };
    const honeId = hone.processId;
    const sides: readonly Side[] = [
      { name: "stubs", target: { urls, authorization: "", form: "vllm" }, processId: null },
      {
        name: "bare proxy",
        target: { urls: [proxyUrl], authorization: "", form: "vllm" },
        processId: present(proxy.pid, "the id of a process that answers"),
      },
      { name: "Hone, completions", target: { ...honeTarget, form: "completion" }, processId: honeId },
      { name: "Hone, chats", target: { ...honeTarget, form: "chat" }, processId: honeId },
    ];
    const run = async (given: Load): Promise<LoadReport> => {
      load.send(given);
      return (await told(load)) as LoadReport;
    };
    const memory = [];
    const rates = await measureRates(sides, flags, { run, onHalf: () => memory.push(residentBytes(honeId)) });
    memory.push(residentBytes(honeId));
    stubs.send(streamStepMs);
    const streams: StreamReport[] = [];
    if (flags.streams > 0)
      for (const side of sides.slice(0, 3)) streams.push(await measureStreams(side, flags, run));
    memory.push(residentBytes(honeId));
    return { rates, streams, memoryMebibytes: memory.map((bytes) => bytes / 2 ** 20) };
  } finally {
    await hone?.stop();
    for (const child of children) child.kill("SIGKILL");
  }
}

interface Running {
  readonly run: (load: Load) => Promise<LoadReport>;
  /** Called after the warm-up and halfway through the requests. */
  readonly onHalf: () => void;
}

async function measureRates(
  sides: readonly Side[],
  { rate, seconds, rounds }: Flags,
  { run, onHalf }: Running,
): Promise<readonly RateReport[]> {
  const loadOf = ({ target }: Side, seed: number): Load => {
    return { target, ratePerSecond: rate, requestCount: rate * seconds, answerLength, seed };
  };
  // Warms up, because the first requests wait for compilation.
  for (const side of sides) await run(loadOf(side, 0));
  const all = new Map(sides.map((side) => [side, { reports: [] as LoadReport[], cpuSeconds: 0 }]));
  for (let round = 0; round < rounds; round++) {
    if (round === 0 || round === Math.floor(rounds / 2)) onHalf();
    // The order alternates, so that drift in the machine's speed favours no side.
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      const own = present(all.get(side), "every side has its figures");
      const before = cpuOf(side);
      own.reports.push(await run(loadOf(side, round + 1)));
      own.cpuSeconds += cpuOf(side) - before;
    }
  }
  const figures = sides.map((side) => {
    const { reports, cpuSeconds } = present(all.get(side), "every side has its figures");
    const count = reports.reduce((sum, { wholeMs }) => sum + wholeMs.length, 0);
    return {
      name: side.name,
      firstMs: percentiles(reports.flatMap(({ firstMs }) => firstMs)),
      wholeMs: percentiles(reports.flatMap(({ wholeMs }) => wholeMs)),
      cpuMicrosecondsPerRequest: side.processId === null ? null : (1e6 * cpuSeconds) / count,
      wrongCount: reports.reduce((sum, { wrongCount }) => sum + wrongCount, 0),
      failures: failuresOf(reports),
    };
  });
  const [stubs, proxy] = figures;
  return figures.map((own) => ({
    ...own,
    addedMs: { p50: own.wholeMs.p50 - stubs.wholeMs.p50, p99: own.wholeMs.p99 - stubs.wholeMs.p99 },
    ratioToProxy: own.wholeMs.p50 / proxy.wholeMs.p50,
  }));
}

async function measureStreams(
  { name, target }: Side,
  { streams, streamTokens }: Flags,
  run: Running["run"],
): Promise<StreamReport> {
  const load = { target, ratePerSecond: null, requestCount: streams, answerLength: streamTokens, seed: 1000 };
  const report = await run(load);
  return {
    name,
    finishedCount: report.wholeMs.length,
    streamedCount: report.streamedCount,
    wrongCount: report.wrongCount,
    failures: report.failures,
    firstMs: percentiles(report.firstMs),
    wholeMs: percentiles(report.wholeMs),
  };
}

function forked(children: ChildProcess[], name: string, argv: readonly string[]): ChildProcess {
  const script = fileURLToPath(new URL(`gateway/${name}.js`, import.meta.url));
  const child = fork(script, argv, { cwd: ownFolder });
  children.push(child);
  return child;
}

/** Returns the next message from a process of this benchmark. */
async function told(child: ChildProcess): Promise<unknown> {
  const [message] = (await once(child, "message")) as [unknown];
  return message;
}

function cpuOf({ processId }: Side): number {
  return processId === null ? 0 : (cpuSecondsOf(processId) ?? NaN);
}

function percentiles(figures: readonly number[]): Percentiles {
  const ascending = figures.toSorted((one, other) => one - other);
  const at = (part: number): number =>
    ascending[Math.min(ascending.length - 1, Math.floor(part * ascending.length))];
  return { p50: at(0.5), p99: at(0.99) };
}

function failuresOf(reports: readonly LoadReport[]): Readonly<Record<string, number>> {
  const all: Record<string, number> = {};
  for (const { failures } of reports)
    for (const [said, count] of Object.entries(failures)) all[said] = (all[said] ?? 0) + count;
  return all;
}

function textOf({ rates, streams, memoryMebibytes }: GatewayReport): string {
  const both = ({ p50, p99 }: Percentiles): string => `${p50.toFixed(2)} / ${p99.toFixed(2)}`;
  const failed = (failures: Readonly<Record<string, number>>): string =>
    Object.entries(failures)
      .map(([said, count]) => `; ${count} failed: ${said}`)
      .join("");
  const lines = [
    "milliseconds, p50 / p99",
    ...rates.map(
      (side) =>
        `${side.name}: first bytes ${both(side.firstMs)}, end ${both(side.wholeMs)}, added ${both(side.addedMs)}, ` +
        `ratio to the bare proxy ${side.ratioToProxy.toFixed(2)}` +
        (side.cpuMicrosecondsPerRequest === null
          ? ""
          : `, CPU ${side.cpuMicrosecondsPerRequest.toFixed(0)} µs per request`) +
        `; ${side.wrongCount} wrong${failed(side.failures)}`,
    ),
    ...streams.map(
      (side) =>
        `${side.name}, concurrent streams: ${side.finishedCount} finished, ${side.streamedCount} arrived in pieces, ${side.wrongCount} wrong; ` +
        `first bytes ${both(side.firstMs)}, end ${both(side.wholeMs)}${failed(side.failures)}`,
    ),
    `memory of Hone's process: ${memoryMebibytes.map((mebibytes) => mebibytes.toFixed(0)).join(", ")} MiB`,
  ];
  return `${lines.join("\n")}\n`;
}
