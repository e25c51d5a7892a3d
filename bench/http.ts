// How fast a server streams over HTTP: a real one on the loopback address, hone-tiny, and clients in this process, which
// share the machine with it. What a client spends is in the figures.
import { endlessModel, removeModel } from "./endless-model.ts";
import { ownFolder, runComparingBench, type BenchOptions } from "./run-bench.ts";
import { serveBuild, type ServedBuild } from "./served-build.ts";
import { medianRatio, runLoad, type ChatLoad, type LoadResult } from "./streamed-chats.ts";

const help = `Usage: node dist/bench/http.js [flags]
Streams chats from servers on loopback: 1, 16 and 64 at once, a prompt of about 64 tokens, answers of 128 tokens drawn at
temperature 1 with a seed. The model is a copy of hone-tiny that does not know when it is done. Counts the tokens of the
answers over the time of all, and the processor time of the server's own process (without its engine's) for each. With
--against both servers run and are asked turn about; the ratio is the median of the rounds' own.`;

const loads: readonly ChatLoad[] = [
  { streams: 1, chats: 8 },
  { streams: 16, chats: 48 },
  { streams: 64, chats: 128 },
];

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
    removeModel(modelFolder);
  }
}

function bestOf(results: readonly LoadResult[]): LoadResult {
  return results.reduce((best, result) => (result.tokensPerSecond > best.tokensPerSecond ? result : best));
}
