// Measures how much slower a server streams when requests use every sampling option, with log-probabilities and
// without. Such chats and plain chats take turns over HTTP at 1 and 16 streams, with answers of equal length. The
// figures include the client's own work.
import { endlessLlama135m, endlessModel, endlessVocabularySize, removeModel } from "./endless-model.ts";
import { logprobOptions, samplingOptions } from "./every-option.ts";
import { measureEach, ownFolder, runComparingBench, type BenchOptions } from "./run-bench.ts";
import { serveBuild } from "./served-build.ts";
import { runLoad, type ChatLoad } from "./streamed-chats.ts";
import { measureTurnAbout, type TurnAboutResult } from "./turn-about.ts";

const help = `Usage: node dist/tools/bench/all-options.js [flags]
Streams chats from a server on the loopback address, 1 and 16 concurrently. Plain chats alternate with chats that use every
sampling option, then with chats that also return token ids and log-probabilities with 5 alternatives. Answers have 128 tokens
(135 M: 32). Prints the tokens per second of both and the median of the per-round ratios. --against is ignored.`;

interface OptionsReport extends TurnAboutResult {
  readonly name: string;
}

const subjects = [
  {
    size: "135m",
    name: "llama-135m (random)",
    make: endlessLlama135m,
    allowedCount: 5000,
    maxTokens: 32,
    chats: [2, 16],
  },
  {
    size: "tiny",
    name: "hone-tiny",
    make: endlessModel,
    allowedCount: endlessVocabularySize - 8,
    maxTokens: 128,
    chats: [4, 32],
  },
] as const;

await runComparingBench<OptionsReport>({
  script: import.meta.url,
  help,
  measure: (options) => measureEach(subjects, options, (subject) => measure(subject, options)),
  textOf: ({ name, plainTokensPerSecond: plain, otherTokensPerSecond: other, ratio }) =>
    `${name}: plain ${plain.toFixed(0)} tokens/s, with the options ${other.toFixed(0)}; ` +
    `ratio ${ratio.toFixed(3)}, ${(1 / ratio).toFixed(2)} times the time`,
});

async function measure(
  { name, make, allowedCount, maxTokens, chats }: (typeof subjects)[number],
  { rounds, threads }: BenchOptions,
): Promise<readonly OptionsReport[]> {
  const modelFolder = make();
  const loads: readonly ChatLoad[] = [
    { streams: 1, chats: chats[0] },
    { streams: 16, chats: chats[1] },
  ];
  const server = await serveBuild(ownFolder, { modelFolder, threads });
  try {
    const plain = { max_tokens: maxTokens };
    const sampling = samplingOptions({ allowedCount, maxTokens });
    const variants = {
      "all of sampling": { ...plain, ...sampling },
      "and log-probabilities": { ...plain, ...sampling, ...logprobOptions },
    };
    const reports: OptionsReport[] = [];
    for (const [what, other] of Object.entries(variants)) {
      // Warms up both kinds of chats, because the first ones wait for compilation.
      for (const body of [plain, other]) await runLoad(server, { streams: 16, chats: 16 }, body);
      for (const load of loads) {
        const result = await measureTurnAbout(server, load, { plain, other }, rounds);
        reports.push({ name: `${name}, ${load.streams} streams, ${what}`, ...result });
      }
    }
    return reports;
  } finally {
    await server.stop();
    removeModel(modelFolder);
  }
}
