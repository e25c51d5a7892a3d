// Measures how much slower a server streams when a JSON schema constrains every answer. Plain and constrained chats
// take turns over HTTP at 16 streams, with answers of equal length. The figures include the client's own work.
import { endlessLlama135m, endlessModel, removeModel } from "./endless-model.ts";
import { measureEach, ownFolder, runComparingBench, type BenchOptions } from "./run-bench.ts";
import { serveBuild } from "./served-build.ts";
import { runLoad, type ChatLoad } from "./streamed-chats.ts";
import { measureTurnAbout } from "./turn-about.ts";

const help = `Usage: node dist/tools/bench/constrained.js [flags]
Streams chats from a server on the loopback address, 16 concurrently. Plain chats alternate with chats constrained by a JSON
schema (a list of objects that never ends). Answers have 128 tokens (135 M: 48), sampled at temperature 1 with a seed. Prints
the tokens per second of both and the median of the per-round ratios. --against is ignored.`;

interface ConstrainedReport {
  readonly name: string;
  readonly plainTokensPerSecond: number;
  readonly constrainedTokensPerSecond: number;
  readonly ratio: number;
}

/** Schema of a list of objects. The list is so long that the answer always reaches its maximum length. */
const schema = {
  type: "array",
  minItems: 100,
  items: {
    type: "object",
    properties: {
      name: { type: "string", maxLength: 20 },
      age: { type: "integer", minimum: 0, maximum: 150 },
      mail: { type: "string", format: "email", maxLength: 30 },
      tags: { type: "array", items: { enum: ["red", "green", "blue"] } },
      note: { type: ["string", "null"] },
    },
    required: ["name", "age", "note"],
    additionalProperties: false,
  },
};

const load: ChatLoad = { streams: 16, chats: 32 };

const subjects = [
  { size: "135m", name: "llama-135m (random)", make: endlessLlama135m, maxTokens: 48 },
  { size: "tiny", name: "hone-tiny", make: endlessModel, maxTokens: 128 },
] as const;

await runComparingBench<ConstrainedReport>({
  script: import.meta.url,
  help,
  measure: (options) => measureEach(subjects, options, async (subject) => [await measure(subject, options)]),
  textOf: ({ name, plainTokensPerSecond: plain, constrainedTokensPerSecond: constrained, ratio }) =>
    `${name}, ${load.streams} streams: plain ${plain.toFixed(0)} tokens/s, constrained ${constrained.toFixed(0)}; ` +
    `ratio ${ratio.toFixed(3)}`,
});

async function measure(
  { name, make, maxTokens }: (typeof subjects)[number],
  { rounds, threads }: BenchOptions,
): Promise<ConstrainedReport> {
  const modelFolder = make();
  const server = await serveBuild(ownFolder, { modelFolder, threads });
  try {
    const plain = { max_tokens: maxTokens, messages: [{ role: "user", content: "hello" }] };
    const constrained = { ...plain, structured_outputs: { json: schema } };
    // Warms up both kinds of chats, because the first ones wait for compilation.
    for (const body of [plain, constrained]) await runLoad(server, { streams: 16, chats: 16 }, body);
    const { plainTokensPerSecond, otherTokensPerSecond, ratio } = await measureTurnAbout(
      server,
      load,
      { plain, other: constrained },
      rounds,
    );
    return { name, plainTokensPerSecond, constrainedTokensPerSecond: otherTokensPerSecond, ratio };
  } finally {
    await server.stop();
    removeModel(modelFolder);
  }
}
