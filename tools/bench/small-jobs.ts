// Measures how much longer a small training job takes than its gradient steps. Times a job over HTTP from its request
// to the first answer of the new version, and then the same steps in this process with programs already loaded. Reports
// the best of several rounds, and the server's first job separately.
import { systemClock } from "../../src/base/domain/clock.ts";
import { seededRandom } from "../../src/base/domain/random.ts";
import { Hone } from "../../src/apps/client/hone.ts";
import type { ExperimentalTrainingConfig, TrajectoryGroup } from "../../src/apps/client/api.ts";
import type { TrainingSequence } from "../../src/train/trainer/trainer.ts";
import { endlessLlama135m, endlessModel, endlessVocabularySize, removeModel } from "./endless-model.ts";
import { llama135m } from "./llama-135m.ts";
import { type BenchOptions, measureEach, ownFolder, runComparingBench, type Report } from "./run-bench.ts";
import { serveBuild } from "./served-build.ts";
import { StepsAlone } from "./steps-alone.ts";

const help = `Usage: node dist/tools/bench/small-jobs.js [flags]
Sends training jobs with 100 sequences of 50 tokens for 12 prompts to a server on the loopback address, one after the other: with a
step per sequence, a step per 25 sequences, and a single step. Requests one token from each job's version. Prints the seconds
from the request to the answer by phase, and those of only the job's gradient steps. --against is ignored.`;

const promptCount = 12;
const sequenceCount = 100;
const promptLength = 30;
const answerLength = 20;

const loads = [
  { name: "a step for each sequence", config: {}, stepSize: 1 },
  { name: "25 sequences a step", config: { batch_size: 25 }, stepSize: 25 },
  { name: "one step", config: { steps: 1 }, stepSize: sequenceCount },
] as const satisfies readonly { name: string; config: ExperimentalTrainingConfig; stepSize: number }[];

const subjects = [
  {
    size: "135m",
    name: "llama-135m (random)",
    make: endlessLlama135m,
    vocabularySize: llama135m().vocabularySize,
  },
  { size: "tiny", name: "hone-tiny", make: endlessModel, vocabularySize: endlessVocabularySize },
] as const;
type Subject = (typeof subjects)[number];

/** Durations of a job's consecutive phases, in seconds. */
interface Phases {
  /**
   * From the request to the job's start event: storing and claiming the job, starting a process with the model,
   * tokenizing, and estimating.
   */
  readonly start: number;
  /** From the start event to the end of the first step, which may load a program. */
  readonly firstStep: number;
  readonly otherSteps: number;
  /**
   * Seconds from the last step until the version exists: checking the version, writing it, and loading it into the
   * engine.
   */
  readonly publish: number;
  /** A chat with an answer of one token. */
  readonly chat: number;
}

interface JobReport extends Report {
  readonly stepsSeconds: number;
  readonly first: Phases;
  readonly best: Phases;
  /** Time of the best job divided by the time of its gradient steps. */
  readonly ratio: number;
  /** How much longer the first job took than the best one, in seconds. */
  readonly firstMore: number;
}

await runComparingBench<JobReport>({
  script: import.meta.url,
  help,
  measure: (options) => measureEach(subjects, options, (subject) => measure(subject, options)),
  textOf: ({ name, stepsSeconds, first, best, ratio, firstMore }) =>
    `${name}: ${total(best).toFixed(2)} s, only steps ${stepsSeconds.toFixed(2)} s, ratio ${ratio.toFixed(2)}; ` +
    `first job ${firstMore.toFixed(2)} s longer\n  ${phasesText(best)}\n  first: ${phasesText(first)}`,
});

async function measure(subject: Subject, options: BenchOptions): Promise<readonly JobReport[]> {
  const modelFolder = subject.make();
  try {
    const reports: JobReport[] = [];
    for (const load of loads) reports.push(await measureLoad(subject, modelFolder, load, options));
    return reports;
  } finally {
    removeModel(modelFolder);
  }
}

async function measureLoad(
  subject: Subject,
  modelFolder: string,
  load: (typeof loads)[number],
  { rounds, threads }: BenchOptions,
): Promise<JobReport> {
  const rollouts = rolloutsOf(subject);
  const server = await serveBuild(ownFolder, { modelFolder, threads });
  const steps = new StepsAlone(modelFolder, threads);
  try {
    const client = new Hone({ baseUrl: server.url, apiKey: server.apiKey });
    const model = await client.models.create({ project: "bench", name: "small", base_model: "endless" });
    const isReady = { model: "endless", messages: [{ role: "user", content: "Hi." }], max_tokens: 1 };
    await client.chat.create(isReady);
    const jobs: Phases[] = [];
    let stepsSeconds = Infinity;
    for (let round = 0; round <= rounds; round++) {
      jobs.push(await runJob(client, model.id, { rollouts, config: load.config }));
      stepsSeconds = Math.min(stepsSeconds, await steps.take(sequencesOf(rollouts), load.stepSize));
    }
    const [first, ...later] = jobs;
    const best = later.reduce((one, other) => (total(other) < total(one) ? other : one));
    const ratio = total(best) / stepsSeconds;
    const firstMore = total(first) - total(best);
    return { name: `${subject.name}, ${load.name}`, stepsSeconds, first, best, ratio, firstMore };
  } finally {
    await steps.close();
    await server.stop();
  }
}

async function runJob(
  client: Hone,
  modelId: string,
  {
    rollouts,
    config,
  }: { readonly rollouts: readonly Rollout[]; readonly config: ExperimentalTrainingConfig },
): Promise<Phases> {
  const times = [systemClock.monotonicMs()];
  const mark = (): void => void times.push(systemClock.monotonicMs());
  const { id: jobId } = await client.jobs.create({
    model_id: modelId,
    trajectory_groups: groupsOf(rollouts),
    experimental_config: config,
  });
  let stepCount = 0;
  let lastStepMs = 0;
  for await (const { type, data } of client.jobs.watch(jobId)) {
    if (type === "training_failed") throw new Error(`The job failed: ${data["error_message"]}`);
    if (type === "training_started") mark();
    if (type === "gradient_step" && stepCount++ === 0) mark();
    if (type === "gradient_step") lastStepMs = systemClock.monotonicMs();
    if (type === "training_ended") break;
  }
  times.push(lastStepMs);
  mark();
  await client.chat.create({ model: modelId, messages: [{ role: "user", content: "Hi." }], max_tokens: 1 });
  mark();
  const [start, firstStep, otherSteps, publish, chat] = times
    .slice(1)
    .map((at, index) => (at - times[index]) / 1000);
  return { start, firstStep, otherSteps, publish, chat };
}

interface Rollout {
  readonly prompt: number;
  readonly promptIds: readonly number[];
  readonly answerIds: readonly number[];
  readonly reward: number;
  /** Log-probability of each token in the answer; the same for all tokens. */
  readonly logprob: number;
}

function rolloutsOf({ vocabularySize }: Subject): readonly Rollout[] {
  const random = seededRandom("small jobs");
  const ids = (length: number): readonly number[] =>
    Array.from({ length }, () => random.index(vocabularySize));
  const prompts = Array.from({ length: promptCount }, () => ids(promptLength));
  return Array.from({ length: sequenceCount }, (_, index) => {
    const prompt = index % promptCount;
    const reward = Math.floor(index / promptCount) % 2;
    const answerIds = ids(answerLength);
    return { prompt, promptIds: prompts[prompt], answerIds, reward, logprob: -Math.log(vocabularySize) };
  }).sort((one, other) => one.prompt - other.prompt);
}

function groupsOf(rollouts: readonly Rollout[]): readonly TrajectoryGroup[] {
  return Array.from({ length: promptCount }, (_, group) => ({
    trajectories: rollouts
      .filter(({ prompt }) => prompt === group)
      .map(({ promptIds, answerIds, reward, logprob }) => {
        const content = answerIds.map((id) => ({ token: `token_id:${id}`, logprob }));
        const choice = {
          finish_reason: "stop",
          index: 0,
          message: { role: "assistant", content: "" },
          logprobs: { content },
          prompt_token_ids: promptIds,
          token_ids: answerIds,
        };
        return { messages_and_choices: [choice], reward };
      }),
  }));
}

function sequencesOf(rollouts: readonly Rollout[]): readonly TrainingSequence[] {
  return rollouts.map(({ prompt, promptIds, answerIds, reward, logprob }) => {
    const tokenIds = Int32Array.of(...promptIds, ...answerIds);
    return {
      tokenIds,
      mask: Uint8Array.from(tokenIds, (_, index) => (index < promptLength ? 0 : 1)),
      oldLogprobs: Float32Array.from(tokenIds, (_, index) => (index < promptLength ? NaN : logprob)),
      advantage: 2 * reward - 1,
      weight: 1,
      group: prompt,
    };
  });
}

function total(phases: Phases): number {
  return Object.values(phases).reduce((sum: number, seconds: number) => sum + seconds, 0);
}

function phasesText(phases: Phases): string {
  return Object.entries(phases)
    .map(([name, seconds]: readonly [string, number]) => `${name} ${seconds.toFixed(2)}`)
    .join(", ");
}
