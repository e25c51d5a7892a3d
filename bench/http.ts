// How fast a server streams over HTTP: a real one on the loopback address, hone-tiny, and clients in this process, which
// share the machine with it. What a client spends is in the figures.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { systemClock } from "../src/domain/clock.ts";
import { ownFolder, runComparingBench, type BenchOptions } from "./run-bench.ts";
import { serveBuild, type ServedBuild } from "./served-build.ts";

const help = `Usage: node dist/bench/http.js [flags]
Streams chats from servers on loopback: 1, 16 and 64 at once, a prompt of about 64 tokens, answers of 128 tokens drawn at
temperature 1 with a seed. The model is a copy of hone-tiny that does not know when it is done. Counts the tokens of the
answers over the time of all, and the processor time of the server's own process (without its engine's) for each. With
--against both servers run and are asked turn about; the ratio is the median of the rounds' own.`;

/** How many streams at once, and how many chats in all. */
const loads = [
  { streams: 1, chats: 8 },
  { streams: 16, chats: 48 },
  { streams: 64, chats: 128 },
] as const;

interface HttpReport {
  readonly name: string;
  readonly streams: number;
  readonly tokensPerSecond: number;
  readonly cpuMicrosecondsPerToken: number | null;
  /** Of the other build, where there is one. */
  readonly otherTokensPerSecond: number | null;
  readonly otherCpuMicrosecondsPerToken: number | null;
  readonly ratio: number | null;
}

await runComparingBench<HttpReport>({
  script: import.meta.url,
  help,
  measure,
  textOf: (report) => {
    const { name, streams, tokensPerSecond, cpuMicrosecondsPerToken: cpu } = report;
    const { otherTokensPerSecond, otherCpuMicrosecondsPerToken: otherCpu, ratio } = report;
    const own = `${name}, ${streams} streams: ${tokensPerSecond.toFixed(0)} tokens/s, server CPU ${cpu?.toFixed(0)} µs a token`;
    if (otherTokensPerSecond === null) return own;
    return `${own}; the other build ${otherTokensPerSecond.toFixed(0)}, ${otherCpu?.toFixed(0)} µs; ratio ${ratio?.toFixed(3)}`;
  },
});

async function measure({ rounds, threads, against }: BenchOptions): Promise<readonly HttpReport[]> {
  const modelFolder = endlessModel();
  const servers: ServedBuild[] = [];
  try {
    for (const folder of against === null ? [ownFolder] : [ownFolder, against]) {
      servers.push(await serveBuild(folder, { modelFolder, threads }));
    }
    // The first chats wait for code to be compiled.
    for (const server of servers) await runLoad(server, loads[1]);
    const reports: HttpReport[] = [];
    for (const load of loads) {
      const results = servers.map((): LoadResult[] => []);
      for (let round = 0; round < rounds; round++) {
        // Turn about who is first: a machine that changes its pace then favours nobody.
        const order = round % 2 === 0 ? servers : servers.toReversed();
        for (const server of order) results[servers.indexOf(server)].push(await runLoad(server, load));
      }
      const [own, other = null] = results.map(bestOf);
      reports.push({
        name: "hone-tiny over HTTP",
        streams: load.streams,
        ...own,
        otherTokensPerSecond: other && other.tokensPerSecond,
        otherCpuMicrosecondsPerToken: other && other.cpuMicrosecondsPerToken,
        ratio: other && medianRatio(results[0], results[1]),
      });
    }
    return reports;
  } finally {
    for (const server of servers) await server.stop();
    rmSync(dirname(modelFolder), { recursive: true, force: true });
  }
}

/** A copy of hone-tiny whose end of text is a token that it never draws, so that answers have their full length. */
function endlessModel(): string {
  const folder = join(mkdtempSync(join(tmpdir(), "hone-bench-")), "hone-tiny");
  cpSync(join(ownFolder, "models", "hone-tiny"), folder, { recursive: true });
  for (const [name, field, value] of [
    ["config.json", "eos_token_id", 1],
    ["generation_config.json", "eos_token_id", 1],
    ["tokenizer_config.json", "eos_token", "<|im_start|>"],
  ] as const) {
    const file = join(folder, name);
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), [field]: value }));
  }
  return folder;
}

interface LoadResult {
  readonly tokensPerSecond: number;
  readonly cpuMicrosecondsPerToken: number | null;
}

function bestOf(results: readonly LoadResult[]): LoadResult {
  return results.reduce((best, result) => (result.tokensPerSecond > best.tokensPerSecond ? result : best));
}

/** Of the rounds' own ratios, each of two loads that ran one after the other. */
function medianRatio(own: readonly LoadResult[], other: readonly LoadResult[]): number {
  const ratios = own.map(({ tokensPerSecond }, round) => tokensPerSecond / other[round].tokensPerSecond);
  ratios.sort((left, right) => left - right);
  const middle = (ratios.length - 1) / 2;
  return (ratios[Math.floor(middle)] + ratios[Math.ceil(middle)]) / 2;
}

/** Each stream asks for its next chat when the last one has ended. */
async function runLoad(
  server: ServedBuild,
  { streams, chats }: { readonly streams: number; readonly chats: number },
): Promise<LoadResult> {
  const cpuBefore = server.cpuSeconds();
  const startMs = systemClock.monotonicMs();
  let started = 0;
  let tokenCount = 0;
  const stream = async (): Promise<void> => {
    while (started < chats) {
      const count = await chat(server, started++);
      tokenCount += count;
    }
  };
  await Promise.all(Array.from({ length: streams }, stream));
  const seconds = (systemClock.monotonicMs() - startMs) / 1000;
  const cpuAfter = server.cpuSeconds();
  return {
    tokensPerSecond: tokenCount / seconds,
    cpuMicrosecondsPerToken:
      cpuBefore === null || cpuAfter === null ? null : (1e6 * (cpuAfter - cpuBefore)) / tokenCount,
  };
}

/** The number of tokens of one streamed answer. */
function chat({ url, apiKey }: ServedBuild, index: number): Promise<number> {
  const words = "Tell me a story about Sam and a cat and a small bird in a small house";
  const body = {
    model: "endless",
    messages: [{ role: "user", content: `${words}, number ${index}. What does the cat say?` }],
    max_tokens: 128,
    temperature: 1,
    seed: index,
    stream: true,
    stream_options: { include_usage: true },
  };
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
    const sent = request(`${url}/v1/chat/completions`, { method: "POST", headers }, (response) => {
      // Only the end of the stream is read: the client should cost as little as it can.
      let tail = "";
      response.setEncoding("utf8");
      response.on("data", (text: string) => (tail = (tail + text).slice(-2000)));
      response.on("error", reject);
      response.on("end", () => {
        const usage = /"completion_tokens":\s*(\d+)/.exec(tail);
        if (usage === null)
          reject(new Error(`status ${response.statusCode}, no usage at the end of:\n${tail}`));
        else resolve(Number(usage[1]));
      });
    });
    sent.on("error", reject);
    sent.end(JSON.stringify(body));
  });
}
