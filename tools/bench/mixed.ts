// Measures how much long prompts delay running streams and short prompts. Runs a server on the loopback address with
// eight streams, sends prompts meanwhile, and records when tokens reach the clients.
import { request } from "node:http";
import { systemClock } from "../../src/base/domain/clock.ts";
import { endlessLlama135m, endlessModel, removeModel } from "./endless-model.ts";
import { measureEach, ownFolder, runComparingBench, type BenchOptions, type Report } from "./run-bench.ts";
import { serveBuild, type ServedBuild } from "./served-build.ts";
import { streamedChat } from "./streamed-chats.ts";

const help = `Usage: node dist/tools/bench/mixed.js [flags]
Streams eight answers from a server on the loopback address and sends long prompts one after the other, each followed immediately
by a short prompt of about 40 tokens. Prints the time between the tokens of the streams without and with prompts (tokens that
arrive in one piece count as one), the 99th percentile with prompts relative to the median, the short prompt's time to its first
token in median gaps of undisturbed streams, and the long prompt's, with streams and without. Long prompts have 1,900 tokens with
the 135 M model (or the one of --model) and 800 with hone-tiny. With --against, both builds' servers run and alternate. Figures
are medians of the rounds.`;

const streamCount = 8;
const shortLength = 40;
/** Number of pieces that each stream receives in a round before any prompt is sent. */
const quietPieces = 30;

interface Model {
  readonly size: "tiny" | "135m";
  readonly name: string;
  readonly longLength: number;
  make(options: BenchOptions): string;
}

const models: readonly Model[] = [
  {
    size: "135m",
    name: "the 135 M model",
    longLength: 1900,
    make: ({ model }) => model ?? endlessLlama135m(),
  },
  { size: "tiny", name: "hone-tiny", longLength: 800, make: endlessModel },
];

/** Figures in milliseconds, or ratios. */
interface Figures {
  readonly quietMedianMs: number;
  readonly medianMs: number;
  readonly p99Ms: number;
  readonly p99OverMedian: number;
  readonly p99OverQuietMedian: number;
  readonly shortMs: number;
  readonly shortOverQuietMedian: number;
  readonly longMs: number;
  readonly longAloneMs: number;
}

interface MixedReport extends Report {
  readonly here: Figures;
  readonly there: Figures | null;
}

await runComparingBench<MixedReport>({
  script: import.meta.url,
  help,
  measure: (options) => measureEach(models, options, (model) => measure(model, options)),
  textOf: ({ name, here, there }) =>
    [`${name}: ${textOf(here)}`, ...(there === null ? [] : [`  the other build: ${textOf(there)}`])].join(
      "\n",
    ),
});

function textOf(figures: Figures): string {
  const ms = (value: number): string => `${value.toFixed(value < 20 ? 1 : 0)} ms`;
  return (
    `between tokens: median ${ms(figures.quietMedianMs)} without prompts; with prompts median ${ms(figures.medianMs)}, p99 ${ms(figures.p99Ms)}, ` +
    `${figures.p99OverMedian.toFixed(1)} times that median, ${figures.p99OverQuietMedian.toFixed(1)} times the one without; ` +
    `short prompt ${ms(figures.shortMs)}, ${figures.shortOverQuietMedian.toFixed(1)} median gaps; ` +
    `long prompt ${ms(figures.longMs)}, ${ms(figures.longAloneMs)} without streams`
  );
}

async function measure(model: Model, options: BenchOptions): Promise<readonly MixedReport[]> {
  const { against, threads, rounds, quantize } = options;
  const modelFolder = model.make(options);
  const servers: ServedBuild[] = [];
  try {
    const flags = ["--quantize", quantize ?? "off"];
    for (const folder of against === null ? [ownFolder] : [ownFolder, against])
      servers.push(await serveBuild(folder, { modelFolder, threads, flags }));
    const wordsOf = await wordCounts(servers[0]);
    const results = servers.map((): Figures[] => []);
    for (let round = 0; round <= rounds; round++) {
      for (const [index, server] of servers.entries()) {
        const figures = await measureRound(server, { round, longLength: model.longLength, wordsOf });
        // Discards the warm-up round.
        if (round > 0) results[index].push(figures);
      }
    }
    const [here, there = null] = results.map(medianFigures);
    return [{ name: `${model.name}, ${quantize === null ? "float32" : `${quantize} bits`}`, here, there }];
  } finally {
    for (const server of servers) await server.stop();
    if (options.model === null) removeModel(modelFolder);
  }
}

/**
 * Returns a function that takes a number of tokens and returns the number of words that a prompt of this length needs.
 */
async function wordCounts(server: ServedBuild): Promise<(tokens: number) => number> {
  const countOf = async (words: number): Promise<number> =>
    (await streamedChat(server, { ...bodyOf(words, "counted"), max_tokens: 1 })).promptTokens;
  const [few, many] = [await countOf(10), await countOf(210)];
  const perWord = (many - few) / 200;
  return (tokens) => Math.max(1, Math.round((tokens - few) / perWord) + 10);
}

/** Returns a request body whose prompt has this many words and a unique start. */
function bodyOf(wordCount: number, topic: string) {
  const words = ["the", "cat", "and", "a", "dog", "saw", "the", "big", "tree", "in", "the", "sun"];
  const text = Array.from({ length: wordCount }, (_, index) => words[(index * 7) % words.length]).join(" ");
  const messages = [{ role: "user", content: `${topic} ${text}` }];
  return { model: "endless", messages, temperature: 1, seed: wordCount, ignore_eos: true };
}

async function measureRound(
  server: ServedBuild,
  {
    round,
    longLength,
    wordsOf,
  }: {
    readonly round: number;
    readonly longLength: number;
    readonly wordsOf: (tokens: number) => number;
  },
): Promise<Figures> {
  const ask = async (tokens: number, topic: string): Promise<number> =>
    (await streamedChat(server, { ...bodyOf(wordsOf(tokens), `${topic} ${round}`), max_tokens: 1 }))
      .firstTokenMs;
  const longAloneMs = await ask(longLength, "alone");
  const streams = Array.from({ length: streamCount }, (_, index) =>
    watchedStream(server, bodyOf(40, `stream ${round} ${index}`)),
  );
  try {
    await until(() => streams.every(({ times }) => times.length > quietPieces));
    const quiet = gapsOf(streams, -Infinity, systemClock.monotonicMs());
    const startMs = systemClock.monotonicMs();
    const [longMs, shortMs] = await Promise.all([
      ask(longLength, "long"),
      systemClock.sleep(20).then(() => ask(shortLength, "short")),
    ]);
    const beside = gapsOf(streams, startMs, systemClock.monotonicMs());
    const [quietMedianMs, medianMs, p99Ms] = [partOf(quiet, 0.5), partOf(beside, 0.5), partOf(beside, 0.99)];
    return {
      quietMedianMs,
      medianMs,
      p99Ms,
      shortMs,
      longMs,
      longAloneMs,
      p99OverMedian: p99Ms / medianMs,
      p99OverQuietMedian: p99Ms / quietMedianMs,
      shortOverQuietMedian: shortMs / quietMedianMs,
    };
  } finally {
    for (const { stop } of streams) stop();
  }
}

/** Starts an answer that continues until it is stopped; records when each piece arrives. */
function watchedStream(
  { url, apiKey }: ServedBuild,
  body: object,
): { readonly times: readonly number[]; readonly stop: () => void } {
  const times: number[] = [];
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  const sent = request(`${url}/v1/chat/completions`, { method: "POST", headers }, (response) => {
    response.on("data", () => times.push(systemClock.monotonicMs()));
    response.on("error", () => undefined);
  });
  // Ignores the error: stopping the stream breaks the connection.
  sent.on("error", () => undefined);
  sent.end(JSON.stringify({ ...body, stream: true }));
  return { times, stop: () => sent.destroy() };
}

/** Returns the gaps between consecutive pieces of a stream that end within the given period, for all streams. */
function gapsOf(
  streams: readonly { readonly times: readonly number[] }[],
  fromMs: number,
  toMs: number,
): readonly number[] {
  return streams.flatMap(({ times }) =>
    // Excludes the first pieces of a stream, which wait until the prompts of all streams are computed.
    times.flatMap((time, index) =>
      index > 5 && time > fromMs && time <= toMs ? [time - times[index - 1]] : [],
    ),
  );
}

async function until(isDone: () => boolean): Promise<void> {
  while (!isDone()) await systemClock.sleep(5);
}

function partOf(values: readonly number[], part: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
}

function medianFigures(rounds: readonly Figures[]): Figures {
  const names = Object.keys(rounds[0]) as (keyof Figures)[];
  return Object.fromEntries(
    names.map((name) => [
      name,
      partOf(
        rounds.map((figures) => figures[name]),
        0.5,
      ),
    ]),
  ) as Record<keyof Figures, number>;
}
