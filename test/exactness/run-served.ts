// Checks that a server gives seeded chats the same answers, bit for bit, in every mode of `served-modes`.
import { isDeepStrictEqual } from "node:util";
import type { Quantization } from "../../src/base/domain/model.ts";
import { seededRandom } from "../../src/base/domain/random.ts";
import { call, newDataFolder, removeDataFolder, startServer, type RunningServer } from "../running-server.ts";
import type { ExactnessOptions } from "./run-exactness.ts";
import { servedAlone, servedModes, type ServedMode } from "./served-modes.ts";

type Chat = Readonly<Record<string, unknown>>;

type ServedOptions = Omit<ExactnessOptions, "promptLengthMax">;

export interface ServedReport {
  readonly precision: Quantization;
  readonly mode: string;
  readonly requestCount: number;
  readonly tokenCount: number;
  /** Indices of the chats whose answers differ. */
  readonly differing: readonly number[];
}

/** Sends all chats in every mode, each on a separate server. */
export async function* checkServed(options: ServedOptions): AsyncGenerator<ServedReport, void> {
  const { precision, count, seed, only = "" } = options;
  const chats = Array.from({ length: count }, (_, index) => exactChat(seed, index));
  const expected = await askServer(servedAlone, chats, options);
  for (const mode of servedModes.filter(({ name }) => name.includes(only))) {
    const answers = await askServer(mode, chats, options);
    const differing = [...answers.keys()].filter(
      (index) => !isDeepStrictEqual(answers[index], expected[index]),
    );
    const tokenCount = answers.reduce((sum, { completionTokens }) => sum + completionTokens, 0);
    yield { precision, mode: mode.name, requestCount: count, tokenCount, differing };
  }
}

function exactChat(seed: number, index: number): Chat {
  const random = seededRandom("exact chat", seed, index);
  const words = ["bird", "house", "cat", "Sam", "said", "the", "a", "big", "red", "no", "7", "?"];
  const wordCount = 1 + random.index([8, 40, 200][random.index(3)]);
  const text = Array.from({ length: wordCount }, () => words[random.index(words.length)]).join(" ");
  return {
    model: "exact",
    messages: [{ role: "user", content: text }],
    temperature: [0, 0.7, 1][random.index(3)],
    top_p: [1, 0.9][random.index(2)],
    n: [1, 1, 2][random.index(3)],
    max_tokens: [4, 16, 32][random.index(3)],
    seed: random.index(2 ** 31),
    logprobs: true,
    top_logprobs: random.index(6),
    return_token_ids: true,
  };
}

interface ServedAnswer {
  readonly choices: unknown;
  readonly completionTokens: number;
}

async function askServer(
  { flags, draftTokensMax, together, rounds = 1, more, company }: ServedMode,
  chats: readonly Chat[],
  { model, precision, threads }: ServedOptions,
): Promise<readonly ServedAnswer[]> {
  const dataFolder = newDataFolder();
  const own = ["--model", `exact=${model}`, "--built-in-model=off", `--quantize=${precision}`];
  const server = await startServer({
    dataFolder,
    flags: [...own, `--engine-threads=${threads}`, ...flags],
    ...(draftTokensMax === undefined ? {} : { limits: { engine: { draftTokensMax } } }),
  });
  const over = new AbortController();
  const keepCompany = async (): Promise<void> => {
    if (company === undefined) return;
    while (!over.signal.aborted) await askChat(server, { ...chats[0], ...company });
  };
  try {
    const others = keepCompany();
    let answers: readonly ServedAnswer[] = [];
    for (let round = 0; round < rounds; round++)
      answers = await askAll(
        server,
        chats.map((chat) => ({ ...chat, ...more })),
        together,
      );
    over.abort();
    await others;
    return answers;
  } finally {
    await server.kill();
    removeDataFolder(dataFolder);
  }
}

async function askAll(
  server: RunningServer,
  chats: readonly Chat[],
  together: number,
): Promise<readonly ServedAnswer[]> {
  const answers: ServedAnswer[] = [];
  let next = 0;
  const askOn = async (): Promise<void> => {
    while (next < chats.length) {
      const index = next++;
      answers[index] = await askChat(server, chats[index]);
    }
  };
  await Promise.all(Array.from({ length: together }, askOn));
  return answers;
}

async function askChat(server: RunningServer, chat: Chat): Promise<ServedAnswer> {
  const { status, body } = await call(server, "POST", "/v1/chat/completions", { body: chat });
  if (status !== 200) throw new Error(`status ${status}: ${JSON.stringify(body)}`);
  return { choices: body.choices, completionTokens: body.usage.completion_tokens };
}
