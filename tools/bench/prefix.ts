// Measures the cost of prompts with a common prefix. Compares many requests with the same prompt with one request for
// many choices, and the second turn of a chat with the same prompt uncached. Measures both in the engine's loop in this
// process, and on a real server over HTTP.
import { systemClock } from "../../src/base/domain/clock.ts";
import type { GenerationRequest } from "../../src/base/domain/generation.ts";
import { plainSampling } from "../../src/base/domain/sampling.ts";
import { createGraphRunner } from "../../src/inference/engine/graph-runner.ts";
import { EngineLoop } from "../../src/inference/engine/loop/engine-loop.ts";
import type { ModelRunner } from "../../src/inference/engine/model-runner.ts";
import { endlessLlama135m, endlessModel, removeModel } from "./endless-model.ts";
import { median } from "./median.ts";
import { measureEach, ownFolder, runComparingBench, type BenchOptions } from "./run-bench.ts";
import { serveBuild } from "./served-build.ts";
import { streamedChat } from "./streamed-chats.ts";
import { subjects } from "./subjects.ts";

const help = `Usage: node dist/tools/bench/prefix.js [flags]
Rollouts: compares 16 requests with the same prompt of 512 tokens and answers of 64 tokens, sampled at temperature 1, with one
request for 16 choices. Second turn: measures the time to the first token after a cached history of 1,000 tokens (hone-tiny: 800),
an answer of 24 and a new message of 40 tokens, and after the same prompt without any cached prefix. Both run on the engine's
loop in this process, where rollouts are also measured without a prefix cache, and over HTTP. The variants alternate; ratios are
medians of the per-round ratios.`;

const rollouts = { count: 16, promptLength: 512, answerLength: 64 };
const turn = { historyLength: { tiny: 800, "135m": 1000 }, answerLength: 24, messageLength: 40 };

type Size = keyof typeof turn.historyLength;

interface PrefixReport {
  readonly name: string;
  readonly manyRequestsMs: number;
  readonly oneRequestMs: number;
  /** Time of many requests divided by the time of one request for many choices. */
  readonly rolloutRatio: number;
  /** `rolloutRatio` without a prefix cache; null if not measured. */
  readonly plainRolloutRatio: number | null;
  readonly secondTurnMs: number;
  readonly coldMs: number;
  /** Time to the first token in the second turn, divided by the same time for an uncached prompt. */
  readonly turnRatio: number;
}

/** Times of one round in milliseconds. */
interface Round {
  readonly many: number;
  readonly one: number;
  readonly plainMany: number | null;
  readonly second: number;
  readonly cold: number;
}

const httpModels = [
  { size: "135m", name: "llama-135m (random)", make: endlessLlama135m },
  { size: "tiny", name: "hone-tiny", make: endlessModel },
] as const;

await runComparingBench<PrefixReport>({
  script: import.meta.url,
  help,
  measure: async (options) => {
    const reports: PrefixReport[] = [];
    for await (const subject of subjects(options)) {
      const { name, size, config, weights, forms } = subject;
      const { threads } = options;
      const runner = await createGraphRunner({ config, weights, forms, threads, adapterCountMax: 0 });
      reports.push(
        await measureRounds(`${name}, the engine's loop`, options, (round) => loopRound(runner, size, round)),
      );
      await runner.close();
    }
    const overHttp = await measureEach(httpModels, options, async ({ name, size, make }) => [
      await measureOverHttp({ name, size, modelFolder: make() }, options),
    ]);
    return [...reports, ...overHttp];
  },
  textOf: (report) => {
    const { name, manyRequestsMs, oneRequestMs, rolloutRatio, plainRolloutRatio } = report;
    const { secondTurnMs, coldMs, turnRatio } = report;
    const plain =
      plainRolloutRatio === null ? "" : ` (without a prefix cache ${plainRolloutRatio.toFixed(2)})`;
    return [
      name,
      `  ${rollouts.count} requests ${manyRequestsMs.toFixed(0)} ms, one for ${rollouts.count} choices ${oneRequestMs.toFixed(0)} ms: ratio ${rolloutRatio.toFixed(2)}${plain}`,
      `  first token of a second turn ${secondTurnMs.toFixed(0)} ms, uncached ${coldMs.toFixed(0)} ms: ratio ${turnRatio.toFixed(3)}`,
    ].join("\n");
  },
});

async function measureRounds(
  name: string,
  { rounds }: BenchOptions,
  measure: (round: number) => Promise<Round>,
): Promise<PrefixReport> {
  // Warms up, because the first round waits for sessions and compilation.
  await measure(rounds);
  const measured: Round[] = [];
  for (let round = 0; round < rounds; round++) measured.push(await measure(round));
  const least = (key: "many" | "one" | "second" | "cold"): number =>
    Math.min(...measured.map((times) => times[key]));
  const plainRatios = measured.flatMap(({ plainMany, one }) => (plainMany === null ? [] : [plainMany / one]));
  return {
    name,
    manyRequestsMs: least("many"),
    oneRequestMs: least("one"),
    rolloutRatio: median(measured.map(({ many, one }) => many / one)),
    plainRolloutRatio: plainRatios.length === 0 ? null : median(plainRatios),
    secondTurnMs: least("second"),
    coldMs: least("cold"),
    turnRatio: median(measured.map(({ second, cold }) => second / cold)),
  };
}

/** Returns `count` token ids. Different values of `first` give prompts without a common prefix. */
function tokensOf(runner: ModelRunner, first: number, count: number): readonly number[] {
  return Array.from(
    { length: count },
    (_, place) => (31 * first + 7 * place + 5) % runner.shape.vocabularySize,
  );
}

async function loopRound(runner: ModelRunner, size: Size, round: number): Promise<Round> {
  const prompt = tokensOf(runner, round, rollouts.promptLength);
  const answers = { maxTokens: rollouts.answerLength };
  const requests = Array.from({ length: rollouts.count }, (_, seed) =>
    requestOf(prompt, { ...answers, seed }),
  );
  const one = [requestOf(prompt, { ...answers, choiceCount: rollouts.count })];
  const history = tokensOf(runner, round, turn.historyLength[size]);
  const second = [...history, ...tokensOf(runner, round + 1, turn.answerLength + turn.messageLength)];
  const asked = [requestOf(second, { maxTokens: 1 })];
  const loop = loopOf(runner, 50);
  await runLoop(loop, [requestOf(history, { maxTokens: turn.answerLength })]);
  return {
    many: await runLoop(loopOf(runner, 50), requests),
    one: await runLoop(loopOf(runner, 50), one),
    plainMany: await runLoop(loopOf(runner, 0), requests),
    second: await runLoop(loop, asked),
    cold: await runLoop(loopOf(runner, 50), asked),
  };
}

function loopOf(runner: ModelRunner, prefixCachePercent: number): EngineLoop {
  return new EngineLoop(runner, {
    slotCountMax: 128,
    kvCacheBytesMax: 2 ** 32,
    prefixCachePercent,
    tokensPerStepMax: 512,
    promptChunkTokens: 512,
  });
}

function requestOf(
  tokenIds: readonly number[],
  more: { readonly maxTokens: number; readonly seed?: number; readonly choiceCount?: number },
): GenerationRequest {
  const { maxTokens, seed = 0, choiceCount = 1 } = more;
  return {
    id: `request ${seed}`,
    prompt: { tokenIds, adapter: null },
    sampling: { ...plainSampling, seed },
    constraint: null,
    stopping: { maxTokens, minTokens: 0, stopTokenIds: [] },
    outputs: { topLogprobCount: null, promptLogprobCount: null },
    choices: { kind: "sample", count: choiceCount },
    priority: 0,
    cacheOwner: "",
    cacheSalt: null,
  };
}

/** Returns the milliseconds until all requests have ended. */
async function runLoop(loop: EngineLoop, requests: readonly GenerationRequest[]): Promise<number> {
  const output = {
    push: () => undefined,
    fail: (error: Error) => {
      throw error;
    },
  };
  const startMs = systemClock.monotonicMs();
  for (const request of requests) loop.submit(request, output);
  while (loop.hasWork) await loop.step();
  return systemClock.monotonicMs() - startMs;
}

async function measureOverHttp(
  { name, size, modelFolder }: { readonly name: string; readonly size: Size; readonly modelFolder: string },
  options: BenchOptions,
): Promise<PrefixReport> {
  const server = await serveBuild(ownFolder, { modelFolder, threads: options.threads });
  const chat = (
    messages: readonly { readonly role: string; readonly content: string }[],
    more: Readonly<Record<string, unknown>>,
  ) => streamedChat(server, { model: "endless", messages, temperature: 1, ...more });
  const user = (content: string) => ({ role: "user", content });
  try {
    // Measured, because the number of tokens per sentence depends on the tokenizer.
    const few = (await chat([user(sentences(20))], { max_tokens: 1 })).promptTokens;
    const perSentence = ((await chat([user(sentences(40))], { max_tokens: 1 })).promptTokens - few) / 20;
    const textOf = (tokenCount: number): string => sentences(Math.round(tokenCount / perSentence));
    const all = async (
      salt: string,
      requests: readonly Readonly<Record<string, unknown>>[],
    ): Promise<number> => {
      const startMs = systemClock.monotonicMs();
      const body = { max_tokens: rollouts.answerLength, cache_salt: salt };
      const prompt = [user(textOf(rollouts.promptLength))];
      await Promise.all(requests.map((request) => chat(prompt, { ...body, ...request })));
      return systemClock.monotonicMs() - startMs;
    };
    const seeds = Array.from({ length: rollouts.count }, (_, seed) => ({ seed }));
    return await measureRounds(`${name} over HTTP`, options, async (round) => {
      const history = [user(textOf(turn.historyLength[size]))];
      const second = [
        ...history,
        { role: "assistant", content: textOf(turn.answerLength) },
        user(textOf(turn.messageLength)),
      ];
      await chat(history, { max_tokens: turn.answerLength, cache_salt: `first ${round}` });
      const firstTokenMs = async (salt: string): Promise<number> =>
        (await chat(second, { max_tokens: 2, cache_salt: salt })).firstTokenMs;
      return {
        many: await all(`many ${round}`, seeds),
        one: await all(`one ${round}`, [{ seed: 0, n: rollouts.count }]),
        plainMany: null,
        second: await firstTokenMs(`first ${round}`),
        cold: await firstTokenMs(`cold ${round}`),
      };
    });
  } finally {
    await server.stop();
    removeModel(modelFolder);
  }
}

function sentences(count: number): string {
  return Array.from({ length: count }, (_, index) => `The cat number ${index} sees a big dog.`).join(" ");
}
