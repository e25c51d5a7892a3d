// Measures the cost of publishing a version: imports adapters of ranks 8 and 64 while 8 streams run. Reports the time
// from the archive's first byte to the response, and the longest gap between two tokens of a stream divided by the
// earlier median gap. Also reports how much longer the version's first chat waits for its first token than its tenth
// chat.
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../../src/base/domain/clock.ts";
import { Hone } from "../../src/apps/client/hone.ts";
import { adapterArchive } from "./adapter-archive.ts";
import { endlessLlama135m, endlessModel, removeModel } from "./endless-model.ts";
import { median } from "./median.ts";
import { measureEach, ownFolder, runComparingBench, type BenchOptions, type Report } from "./run-bench.ts";
import { serveBuild, type ServedBuild } from "./served-build.ts";
import { streamedChat } from "./streamed-chats.ts";

const help = `Usage: node dist/tools/bench/publish.js [flags]
Imports adapters of ranks 8 and 64 while 8 streams run, and requests chats of one token from each new version. Prints the duration
of the import, the longest gap of the streams meanwhile relative to their median gap, and the first chat's time to its first
token relative to the median of later chats. With --against, both builds' servers alternate. Figures are medians of the rounds.`;

const ranks = [8, 64] as const;
const streamCount = 8;
/** Length of each stream's answer in tokens, which determines the length of a round. */
const answerTokens = { tiny: 800, "135m": 400 } as const;

const subjects = [
  { size: "135m", name: "llama-135m (random)", make: endlessLlama135m },
  { size: "tiny", name: "hone-tiny", make: endlessModel },
] as const;
type Subject = (typeof subjects)[number];

interface Published {
  readonly importMs: number;
  readonly gapOverMedian: number;
  readonly firstOverLater: number;
}

interface PublishReport extends Report {
  readonly here: Published;
  /** Figures of the other build; null if no other build is compared. */
  readonly there: Published | null;
}

await runComparingBench<PublishReport>({
  script: import.meta.url,
  help,
  measure: (options) => measureEach(subjects, options, (subject) => measure(subject, options)),
  textOf: ({ name, here, there }) =>
    `${name}: ${textOf(here)}${there === null ? "" : `; the other build ${textOf(there)}`}`,
});

async function measure(
  subject: Subject,
  { rounds, threads, against }: BenchOptions,
): Promise<readonly PublishReport[]> {
  const modelFolder = subject.make();
  const servers: ServedBuild[] = [];
  try {
    for (const folder of against === null ? [ownFolder] : [ownFolder, against])
      servers.push(await serveBuild(folder, { modelFolder, threads }));
    // Gives the server time to finish its idle work.
    await sleep(10_000);
    const reports: PublishReport[] = [];
    for (const rank of ranks) {
      const results = servers.map((): Published[] => []);
      for (let round = 0; round < rounds; round++) {
        const archive = adapterArchive(modelFolder, { rank, seed: round });
        const order = round % 2 === 0 ? servers : servers.toReversed();
        for (const server of order) {
          const tokens = answerTokens[subject.size];
          results[servers.indexOf(server)].push(await publishOnce(server, archive, tokens));
        }
      }
      const [here, there = null] = results.map(typical);
      reports.push({ name: `${subject.name}, rank ${rank}`, here, there });
    }
    return reports;
  } finally {
    for (const server of servers) await server.stop();
    removeModel(modelFolder);
  }
}

async function publishOnce(server: ServedBuild, archive: Buffer, tokens: number): Promise<Published> {
  const client = new Hone({ baseUrl: server.url, apiKey: server.apiKey });
  const name = `published-${Math.round(1e9 * Math.random())}`;
  const model = await client.models.create({ project: "bench", name, base_model: "endless" });
  const arrivals = Array.from({ length: streamCount }, (): number[] => []);
  const streams = arrivals.map((times, index) =>
    streamedChat(
      server,
      { ...bodyOf("endless", `${index}: tell me a long story.`), max_tokens: tokens },
      { onChunk: () => times.push(systemClock.monotonicMs()) },
    ),
  );
  while (arrivals.some(({ length }) => length < 40)) await sleep(10);
  const startMs = systemClock.monotonicMs();
  await client.checkpoints.import(model.id, piecesOf(archive));
  const endMs = systemClock.monotonicMs();
  const firstTokens: number[] = [];
  for (let chat = 0; chat < 10; chat++) {
    const { firstTokenMs } = await streamedChat(server, {
      ...bodyOf(model.id, `${chat} times hello.`),
      max_tokens: 1,
    });
    firstTokens.push(firstTokenMs);
  }
  await Promise.all(streams);
  const before = arrivals.flatMap((times) => gapsOf(times.filter((at) => at < startMs)));
  const meanwhile = arrivals.flatMap((times) =>
    gapsOf(times.filter((at) => at > startMs - 100 && at < endMs + 100)),
  );
  return {
    importMs: endMs - startMs,
    gapOverMedian: Math.max(...meanwhile) / median(before),
    firstOverLater: firstTokens[0] / median(firstTokens.slice(5)),
  };
}

function bodyOf(model: string, content: string): Readonly<Record<string, unknown>> {
  return { model, messages: [{ role: "user", content }], temperature: 1, seed: 1 };
}

async function* piecesOf(archive: Buffer): AsyncGenerator<Uint8Array, void> {
  for (let start = 0; start < archive.length; start += 1 << 20)
    yield archive.subarray(start, start + (1 << 20));
}

function gapsOf(times: readonly number[]): readonly number[] {
  return times.slice(1).map((at, index) => at - times[index]);
}

function typical(results: readonly Published[]): Published {
  const of = (figure: keyof Published): number => median(results.map((result) => result[figure]));
  return {
    importMs: of("importMs"),
    gapOverMedian: of("gapOverMedian"),
    firstOverLater: of("firstOverLater"),
  };
}

function textOf({ importMs, gapOverMedian, firstOverLater }: Published): string {
  return `imported in ${importMs.toFixed(0)} ms, longest gap ${gapOverMedian.toFixed(1)} medians, first chat ${firstOverLater.toFixed(2)} of later ones`;
}
