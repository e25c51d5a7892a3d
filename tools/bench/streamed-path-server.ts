// Server process of tools/bench/streamed-path.ts: a build's HTTP and chat modules on top of an engine that computes
// nothing. The engine waits until every stream wants a token, then gives one to each. The arguments are the build's
// folder and the number of streams.
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type * as Chat from "../../src/inference/chat/complete-chat.ts";
import type * as Prompts from "../../src/inference/chat/testing/direct-prompts.ts";
import type * as Defaults from "../../src/inference/chat/testing/no-defaults.ts";
import type * as Replies from "../../src/inference/chat/testing/plain-replies.ts";
import type * as Http from "../../src/api/http/testing/fake-server.ts";
import type * as Logs from "../../src/base/telemetry/testing/silent-logger.ts";
import type * as MetricsModule from "../../src/base/telemetry/metrics.ts";
import type * as Tokenizers from "../../src/lib/tokenizer/tokenizer.ts";
import { systemClock } from "../../src/base/domain/clock.ts";
import type { GenerationEvent, GenerationRequest } from "../../src/base/domain/generation.ts";
import { playedEngine } from "./played-engine.ts";

const [folder, streams] = [process.argv[2], Number(process.argv[3])];

/** Loads a module from the measured build. The type comes from the same module of this build. */
async function load<Module>(path: string): Promise<Module> {
  // Safe cast: both builds have these modules, and in both they export the members used here.
  return (await import(pathToFileURL(join(folder, "dist", "src", path)).href)) as Module;
}

const limits = { contextLength: 4096, vocabularySize: 512 };
const waiting: (() => void)[] = [];

/** Waits for the next step, in which all waiting streams get their tokens. */
function wait(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === streams) setImmediate(() => waiting.splice(0).forEach((give) => give()));
  });
}

async function* play({ stopping }: GenerationRequest): AsyncGenerator<readonly GenerationEvent[]> {
  yield [{ kind: "prompt-computed", cachedTokenCount: 0 }];
  for (let index = 0; index < stopping.maxTokens; index++) {
    await wait();
    // Plain letters, so that each token becomes a separate chunk.
    yield [{ kind: "tokens", choice: 0, tokens: [{ id: 64 + (index % 26), logprob: -1, alternatives: [] }] }];
  }
  yield [{ kind: "choice-finished", choice: 0, reason: "length", stopTokenId: null }];
}

const engine = playedEngine(limits, play);

const modelFolder = "test/fixtures/goldens/models/qwen3";
const { createChatService } = await load<typeof Chat>("inference/chat/complete-chat.js");
const { directPrompts } = await load<typeof Prompts>("inference/chat/testing/direct-prompts.js");
const { noDefaults } = await load<typeof Defaults>("inference/chat/testing/no-defaults.js");
const { plainReplies } = await load<typeof Replies>("inference/chat/testing/plain-replies.js");
const { bearer, fakeServer } = await load<typeof Http>("api/http/testing/fake-server.js");
const { silentLogger } = await load<typeof Logs>("base/telemetry/testing/silent-logger.js");
const { createMetrics } = await load<typeof MetricsModule>("base/telemetry/metrics.js");
const { loadTokenizer } = await load<typeof Tokenizers>("lib/tokenizer/tokenizer.js");
const model = { base: "tiny", name: "tiny", fullName: "tiny", fingerprint: "f", adapter: null };
const base = {
  model: { name: "tiny", folder: modelFolder },
  engine,
  prompts: await directPrompts(modelFolder),
  tokenizer: await loadTokenizer(modelFolder),
  defaults: noDefaults([2]),
  replies: plainReplies,
  contextLength: limits.contextLength,
};
const chat = createChatService({
  directory: {
    resolve: async () => ({ ...model, isTrained: false, modelId: null, step: null, projectId: null }),
    adapterFault: async (_, error) => error,
  },
  bases: { use: async () => ({ base, release: () => undefined }) },
  clock: systemClock,
  metrics: createMetrics({ processMetrics: false }),
  logger: silentLogger,
});
const server = await fakeServer({ chat });
await server.app.listen({ host: "127.0.0.1", port: 0 });
// Safe cast: a server that listens on TCP has an address with a port.
const { port } = server.app.server.address() as AddressInfo;
process.on("message", () => process.send?.(process.cpuUsage()));
process.send?.({ url: `http://127.0.0.1:${port}`, authorization: bearer() });
