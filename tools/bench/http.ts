// Compares the streaming speed over HTTP with the speed of the engine's loop without HTTP. Runs a real server on the
// loopback address with two models, and clients in this process. The figures include the clients' own work.
import { plainSampling } from "../../src/base/domain/sampling.ts";
import type { GenerationRequest } from "../../src/base/domain/generation.ts";
import { createGraphRunner } from "../../src/inference/engine/graph-runner.ts";
import type { ModelRunner } from "../../src/inference/engine/model-runner.ts";
import { readModelConfig } from "../../src/inference/architectures/config/read-config.ts";
import { readModelWeights } from "../../src/inference/architectures/weights.ts";
import { endlessLlama135m, endlessModel, endlessVocabularySize, removeModel } from "./endless-model.ts";
import { logprobOptions, samplingOptions } from "./every-option.ts";
import { measureEach, ownFolder, runComparingBench, type BenchOptions } from "./run-bench.ts";
import { loopTokensPerSecond } from "./run-loop.ts";
import { TimedRunner } from "./timed-runner.ts";
import { serveBuild, type ServedBuild } from "./served-build.ts";
import {
  answerLengthOf,
  answerLengths,
  type AnswerLengths,
  medianRatio,
  runLoad,
  type ChatLoad,
  type LoadResult,
} from "./streamed-chats.ts";

const help = `Usage: node dist/tools/bench/http.js [flags]
Streams chats from servers on the loopback address: 1, 16 and 64 concurrently (135 M: also 32), with prompts of about 64 tokens
and answers sampled at temperature 1 with a seed. Answers have 96 to 160 tokens with hone-tiny, and 48 to 80 with a Llama of
135 M random weights; neither model stops early. Prints the tokens per second over the total time, and the processor time per
token of the server's process without its engine. The same load also runs on the engine's loop in this process without HTTP.
There, the time of the model runner's prefill and decode is measured separately; it determines the maximum possible rate.
Each load except the greatest also runs with all sampling options and log-probabilities (see all-options.js). hone-tiny also
runs as a trained model with 16 streams, with and without recording. With --against, both builds' servers run and their loads
alternate. All ratios are medians of the per-round ratios.`;

/** Approximate length of the streamed chats' prompts in tokens. */
const promptLength = 64;

/** A model and the loads to run on it. */
interface Model {
  readonly size: "tiny" | "135m";
  readonly name: string;
  /** Creates a model folder whose model never stops early; returns its path. */
  make(): string;
  readonly answers: AnswerLengths;
  readonly loads: readonly ChatLoad[];
  /**
   * A load that is also measured on a trained version, with recording and without; undefined if recording is not
   * measured.
   */
  readonly recordedLoad?: ChatLoad;
}

const models: readonly Model[] = [
  {
    size: "135m",
    name: "llama-135m (random)",
    make: endlessLlama135m,
    answers: { least: 48, most: 80 },
    loads: [
      { streams: 1, chats: 2 },
      { streams: 16, chats: 48 },
      { streams: 32, chats: 96 },
      { streams: 64, chats: 128 },
    ],
  },
  {
    size: "tiny",
    name: "hone-tiny",
    make: endlessModel,
    answers: answerLengths,
    loads: [
      { streams: 1, chats: 8 },
      { streams: 16, chats: 64 },
      { streams: 64, chats: 192 },
    ],
    recordedLoad: { streams: 16, chats: 160 },
  },
];

interface Subject {
  readonly name: string;
  readonly load: ChatLoad;
  readonly more: Readonly<Record<string, unknown>>;
  /** Chats to compare with, as a name and additional fields of their bodies; null to compare with the engine's loop. */
  readonly beside: { readonly name: string; readonly more: Readonly<Record<string, unknown>> } | null;
}

/** Version 0 of a trained model. It computes the same as its base model. */
const trained = { project: "bench", name: "recorded" };

/** Returns plain chats for each load, and chats with all options for each load except the greatest. */
function subjectsOf({ loads, answers, recordedLoad }: Model, vocabularySize: number): readonly Subject[] {
  // Allows all but a few tokens of the vocabulary.
  const sampling = samplingOptions({
    allowedCount: Math.min(vocabularySize, endlessVocabularySize) - 8,
    maxTokens: answers.least,
  });
  const allOptions = { ...sampling, ...logprobOptions };
  const own = loads.map((load) => ({ ...load, answers }));
  return [
    ...own.map((load) => ({ name: "plain", load, more: {}, beside: null })),
    ...own
      .slice(0, -1)
      .map((load) => ({ name: "all options", load, more: allOptions, beside: { name: "plain", more: {} } })),
    ...(recordedLoad === undefined ? [] : [recordedSubject({ ...recordedLoad, answers })]),
  ];
}

function recordedSubject(load: ChatLoad): Subject {
  const more = { model: `${trained.project}/${trained.name}` };
  return { name: "recorded", load, more, beside: { name: "not recorded", more: { ...more, store: false } } };
}

interface HttpReport {
  readonly name: string;
  readonly streams: number;
  readonly tokensPerSecond: number;
  readonly cpuMicrosecondsPerToken: number | null;
  /** Name of the comparison value: the engine's loop for plain chats, and plain chats for chats with all options. */
  readonly comparedWith: string;
  readonly ratioToThat: number;
  /** Rate divided by the rate of the model runner without the rest of the engine; null if not measured. */
  readonly ratioToRunner: number | null;
  /** Share of the processor time of server and engine that the model runner uses; null if not measured. */
  readonly runnerShareOfCpu: number | null;
  /** Rate of the other build; null if no other build is compared. */
  readonly otherTokensPerSecond: number | null;
  readonly otherCpuMicrosecondsPerToken: number | null;
  readonly ratio: number | null;
  /**
   * Processor time per token divided by the other build's; below 1 if this build uses less. Null if no other build is
   * compared.
   */
  readonly cpuRatio: number | null;
}

await runComparingBench<HttpReport>({
  script: import.meta.url,
  help,
  measure: (options) => measureEach(models, options, (model) => measure(model, options)),
  textOf: (report) => {
    const { name, streams, tokensPerSecond, cpuMicrosecondsPerToken: cpu } = report;
    const { otherTokensPerSecond, otherCpuMicrosecondsPerToken: otherCpu, ratio, cpuRatio } = report;
    const own =
      `${name}, ${streams} streams: ${tokensPerSecond.toFixed(0)} tokens/s, server CPU ${cpu?.toFixed(0)} µs per token, ` +
      `ratio ${report.ratioToThat.toFixed(3)} to ${report.comparedWith}` +
      (report.ratioToRunner === null
        ? ""
        : `, ratio ${report.ratioToRunner.toFixed(3)} to the runner alone, which uses this share of processor time: ${report.runnerShareOfCpu?.toFixed(3)}`);
    if (otherTokensPerSecond === null) return own;
    return `${own}; the other build ${otherTokensPerSecond.toFixed(0)}, ${otherCpu?.toFixed(0)} µs; ratio ${ratio?.toFixed(3)}, of CPU ${cpuRatio?.toFixed(3)}`;
  },
});

async function measure(
  model: Model,
  { rounds, threads, against }: BenchOptions,
): Promise<readonly HttpReport[]> {
  const modelFolder = model.make();
  const servers: ServedBuild[] = [];
  const config = readModelConfig(modelFolder);
  const weights = readModelWeights(modelFolder, config, { cacheFolder: null });
  const runner = await createGraphRunner({ config, weights, threads, adapterCountMax: 0 });
  const subjects = subjectsOf(model, config.vocabularySize);
  try {
    for (const folder of against === null ? [ownFolder] : [ownFolder, against]) {
      servers.push(await serveWithTrained(folder, { modelFolder, threads }));
    }
    // Warms up, because the first chats wait for compilation.
    for (const { load, more } of subjects) for (const server of servers) await runLoad(server, load, more);
    const reports: HttpReport[] = [];
    for (const subject of subjects)
      reports.push(await measureSubject(model.name, subject, { servers, runner, rounds }));
    return reports;
  } finally {
    for (const server of servers) await server.stop();
    await runner.close();
    removeModel(modelFolder);
  }
}

async function serveWithTrained(
  folder: string,
  options: Parameters<typeof serveBuild>[1],
): Promise<ServedBuild> {
  const server = await serveBuild(folder, options);
  const answer = await fetch(`${server.url}/v1/preview/models`, {
    method: "POST",
    headers: { authorization: `Bearer ${server.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ ...trained, base_model: "endless" }),
  });
  if (!answer.ok) throw new Error(await answer.text());
  return server;
}

async function measureSubject(
  modelName: string,
  { name, load, more, beside }: Subject,
  { servers, runner, rounds }: { servers: readonly ServedBuild[]; runner: ModelRunner; rounds: number },
): Promise<HttpReport> {
  const results = servers.map((): LoadResult[] => []);
  const others: LoadResult[] = [];
  const alone: LoadResult[] = [];
  for (let round = 0; round < rounds; round++) {
    // The order alternates, so that drift in the machine's speed favours no server.
    const order = round % 2 === 0 ? servers : servers.toReversed();
    for (const server of order) results[servers.indexOf(server)].push(await runLoad(server, load, more));
    if (beside !== null) others.push(await runLoad(servers[0], load, beside.more));
    else {
      const loop = await runLoop(runner, load);
      others.push(loop.whole);
      alone.push(loop.runner);
    }
  }
  const [own, other = null] = results.map(bestOf);
  return {
    name: `${modelName} over HTTP, ${name}`,
    streams: load.streams,
    ...own,
    comparedWith: beside?.name ?? "the engine's loop",
    ratioToThat: medianRatio(results[0], others),
    ratioToRunner: beside === null ? medianRatio(results[0], alone) : null,
    runnerShareOfCpu: beside === null ? medianRatio(alone, results[0], allCpuOf) : null,
    otherTokensPerSecond: other && other.tokensPerSecond,
    otherCpuMicrosecondsPerToken: other && other.cpuMicrosecondsPerToken,
    ratio: other && medianRatio(results[0], results[1]),
    cpuRatio: other && medianRatio(results[0], results[1], cpuOf),
  };
}

/**
 * Runs the same load without HTTP. Measures the time of the engine's loop, and how much of it the model runner takes.
 */
async function runLoop(
  runner: ModelRunner,
  { streams, chats, answers }: ChatLoad,
): Promise<{ readonly whole: LoadResult; readonly runner: LoadResult }> {
  const requests = Array.from({ length: chats }, (_, index): GenerationRequest => {
    const idOf = (place: number): number => (31 * index + 7 * place) % runner.shape.vocabularySize;
    return {
      id: `request ${index}`,
      prompt: { tokenIds: Array.from({ length: promptLength }, (_, place) => idOf(place)), adapter: null },
      sampling: { ...plainSampling, seed: index },
      constraint: null,
      stopping: { maxTokens: answerLengthOf(index, answers), minTokens: 0, stopTokenIds: [] },
      outputs: { topLogprobCount: null, promptLogprobCount: null },
      choices: { kind: "sample", count: 1 },
      priority: 0,
      cacheOwner: "",
      cacheSalt: null,
    };
  });
  const timed = new TimedRunner(runner);
  const tokensPerSecond = await loopTokensPerSecond(timed, requests, streams);
  const tokenCount = requests.reduce((sum, { stopping }) => sum + stopping.maxTokens, 0);
  const unknown = { cpuMicrosecondsPerToken: null, engineCpuMicrosecondsPerToken: null };
  return {
    whole: { ...unknown, tokensPerSecond },
    runner: {
      tokensPerSecond: (1000 * tokenCount) / timed.wallMs,
      cpuMicrosecondsPerToken: 0,
      engineCpuMicrosecondsPerToken: (1000 * timed.cpuMs) / tokenCount,
    },
  };
}

/** Returns the processor time per token of the server and its engine; NaN if unknown. */
function allCpuOf({
  cpuMicrosecondsPerToken: own,
  engineCpuMicrosecondsPerToken: engine,
}: LoadResult): number {
  return own === null || engine === null ? NaN : own + engine;
}

/** Returns the server's processor time per token; NaN if unknown. */
function cpuOf({ cpuMicrosecondsPerToken }: LoadResult): number {
  return cpuMicrosecondsPerToken ?? NaN;
}

function bestOf(results: readonly LoadResult[]): LoadResult {
  return results.reduce((best, result) => (result.tokensPerSecond > best.tokensPerSecond ? result : best));
}
