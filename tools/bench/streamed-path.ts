// Measures how much processor time the server spends on a streamed token, from the engine's event to the socket. Runs
// HTTP and chat in a separate process on top of an engine that computes nothing; the clients' time is not counted. Each
// token is a separate event and chunk however busy the machine is, so that all builds do the same work.
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { fileURLToPath } from "node:url";
import { ownFolder, runComparingBench, type BenchOptions } from "./run-bench.ts";

const help = `Usage: node dist/tools/bench/streamed-path.js [flags]
Streams answers of 256 tokens with one token per chunk to 1, 16 and 64 concurrent clients, and prints the server's processor time
per token. With --against, both builds' servers run and alternate. Figures are medians of the rounds.`;

const answerTokens = 256;
/** Approximate number of tokens per round. */
const tokensOfRound = 32_768;

interface PathReport {
  readonly name: string;
  readonly cpuMicrosecondsPerToken: number;
  /** The same figure for the other build; null if no other build is compared. */
  readonly otherCpuMicrosecondsPerToken: number | null;
  readonly ratio: number | null;
}

interface Served {
  readonly url: string;
  readonly authorization: string;
  readonly child: ChildProcess;
}

await runComparingBench<PathReport>({
  script: import.meta.url,
  help,
  measure: async (options) => {
    const reports: PathReport[] = [];
    for (const streams of [1, 16, 64]) reports.push(await measure(streams, options));
    return reports;
  },
  textOf: ({ name, cpuMicrosecondsPerToken: own, otherCpuMicrosecondsPerToken: other, ratio }) =>
    `${name}: server CPU ${own.toFixed(1)} µs per token` +
    (other === null ? "" : `; the other build ${other.toFixed(1)}; ratio ${ratio?.toFixed(3)}`),
});

async function measure(streams: number, { rounds, against }: BenchOptions): Promise<PathReport> {
  const servers: Served[] = [];
  try {
    for (const folder of against === null ? [ownFolder] : [ownFolder, against])
      servers.push(await serve(folder, streams));
    // Warms up, because the first rounds wait for compilation.
    for (const server of servers) await runRound(server, streams);
    const results = servers.map((): number[] => []);
    for (let round = 0; round < rounds; round++) {
      const order = round % 2 === 0 ? servers : servers.toReversed();
      for (const server of order) results[servers.indexOf(server)].push(await runRound(server, streams));
    }
    const [own, other = null] = results;
    return {
      name: `a streamed token, ${streams} concurrent`,
      cpuMicrosecondsPerToken: median(own),
      otherCpuMicrosecondsPerToken: other && median(other),
      ratio: other && median(own.map((figure, round) => figure / other[round])),
    };
  } finally {
    for (const { child } of servers) child.kill("SIGKILL");
  }
}

async function serve(folder: string, streams: number): Promise<Served> {
  const script = fileURLToPath(new URL("streamed-path-server.js", import.meta.url));
  const child = fork(script, [folder, `${streams}`], { cwd: folder });
  // Safe cast: the script sends this as its first message.
  const [served] = (await once(child, "message")) as [Omit<Served, "child">];
  return { ...served, child };
}

/** @returns microseconds per token */
async function runRound(server: Served, streams: number): Promise<number> {
  const before = await cpuOf(server);
  let tokenCount = 0;
  while (tokenCount < tokensOfRound) {
    await Promise.all(Array.from({ length: streams }, () => readStream(server)));
    tokenCount += streams * answerTokens;
  }
  return ((await cpuOf(server)) - before) / tokenCount;
}

async function cpuOf({ child }: Served): Promise<number> {
  child.send("cpu");
  // Safe cast: the script answers with its processor time.
  const [{ user, system }] = (await once(child, "message")) as [NodeJS.CpuUsage];
  return user + system;
}

function readStream({ url, authorization }: Served): Promise<void> {
  const body = { messages: [{ role: "user", content: "Hi" }], max_tokens: answerTokens, stream: true };
  return new Promise((resolve, reject) => {
    const headers = { authorization, "content-type": "application/json" };
    const sent = request(`${url}/v1/chat/completions`, { method: "POST", headers }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`status ${response.statusCode}`));
      response.resume().on("error", reject).on("end", resolve);
    });
    sent.on("error", reject);
    sent.end(JSON.stringify(body));
  });
}

function median(figures: readonly number[]): number {
  const sorted = figures.toSorted((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)];
}
