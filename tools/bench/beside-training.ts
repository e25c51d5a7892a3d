// Measures how much longer a chat takes while a training job runs. The same chats run with a job and without one in
// turn on one server.
import { systemClock } from "../../src/base/domain/clock.ts";
import { seededRandom } from "../../src/base/domain/random.ts";
import { Hone } from "../../src/apps/client/hone.ts";
import type { TrajectoryGroup } from "../../src/apps/client/api.ts";
import { llama135m } from "./llama-135m.ts";
import { endlessLlama135m, endlessModel, endlessVocabularySize, removeModel } from "./endless-model.ts";
import { measureEach, ownFolder, runComparingBench, type BenchOptions } from "./run-bench.ts";
import { serveBuild } from "./served-build.ts";

const help = `Usage: node dist/tools/bench/beside-training.js [flags]
Sends chats to a server on the loopback address, 1 and 4 concurrently, with prompts of about 60 tokens and answers of 32.
Alternates between chats alone and chats during a training job with sequences of 256 tokens. Prints the 50th and 95th
percentiles of the duration of a chat in milliseconds for both, and the ratio of the 95th percentiles. --against is ignored.`;

interface BesideReport {
  readonly name: string;
  readonly chats: number;
  readonly aloneMs: Percentiles;
  readonly besideMs: Percentiles;
  /** 95th percentile with a job, divided by the one without. */
  readonly ratio: number;
}

interface Percentiles {
  readonly p50: number;
  readonly p95: number;
}

const subjects = [
  {
    size: "135m",
    name: "llama-135m (random)",
    make: endlessLlama135m,
    vocabularySize: llama135m().vocabularySize,
    chats: 12,
  },
  { size: "tiny", name: "hone-tiny", make: endlessModel, vocabularySize: endlessVocabularySize, chats: 100 },
] as const;
type Subject = (typeof subjects)[number];

const sequenceLength = 256;
const answerLength = 32;
const random = seededRandom("beside training");

await runComparingBench<BesideReport>({
  script: import.meta.url,
  help,
  measure: (options) => measureEach(subjects, options, (subject) => measure(subject, options)),
  textOf: ({ name, aloneMs, besideMs, ratio }) =>
    `${name}: alone p50 ${aloneMs.p50.toFixed(0)} p95 ${aloneMs.p95.toFixed(0)} ms, ` +
    `during a job p50 ${besideMs.p50.toFixed(0)} p95 ${besideMs.p95.toFixed(0)} ms; p95 ratio ${ratio.toFixed(2)}`,
});

async function measure(
  subject: Subject,
  { rounds, threads }: BenchOptions,
): Promise<readonly BesideReport[]> {
  const modelFolder = subject.make();
  const server = await serveBuild(ownFolder, { modelFolder, threads });
  try {
    const client = new Hone({ baseUrl: server.url, apiKey: server.apiKey });
    const model = await client.models.create({ project: "bench", name: "beside", base_model: "endless" });
    const reports: BesideReport[] = [];
    for (const atOnce of [1, 4]) {
      // Warms up, because the first chats wait for compilation.
      await chatTimes(client, { atOnce, count: 4 });
      const alone: number[] = [];
      const beside: number[] = [];
      for (let round = 0; round < rounds; round++) {
        alone.push(...(await chatTimes(client, { atOnce, count: subject.chats })));
        beside.push(...(await besideJob(client, model.id, subject, { atOnce, count: subject.chats })));
      }
      const [aloneMs, besideMs] = [percentiles(alone), percentiles(beside)];
      const ratio = besideMs.p95 / aloneMs.p95;
      reports.push({
        name: `${subject.name}, ${atOnce} concurrent`,
        chats: beside.length,
        aloneMs,
        besideMs,
        ratio,
      });
    }
    return reports;
  } finally {
    await server.stop();
    removeModel(modelFolder);
  }
}

/** Measures chats while a training job takes its steps, then cancels the job. */
async function besideJob(
  client: Hone,
  modelId: string,
  subject: Subject,
  load: { readonly atOnce: number; readonly count: number },
): Promise<readonly number[]> {
  const groups = Array.from({ length: 128 }, () => groupOf(subject));
  const { id: jobId } = await client.jobs.create({ model_id: modelId, trajectory_groups: groups });
  for await (const { type } of client.jobs.watch(jobId)) if (type === "gradient_step") break;
  const times = await chatTimes(client, load);
  const { state } = await client.jobs.get(jobId);
  if (state !== "running")
    throw new Error(`The job was ${state} before the chats had ended; it is too short.`);
  await client.jobs.cancel(jobId);
  for await (const { type } of client.jobs.watch(jobId)) if (type === "training_failed") break;
  return times;
}

/** Returns a group of two trajectories of random tokens with different rewards. */
function groupOf({ vocabularySize }: Subject): TrajectoryGroup {
  const ids = (): number[] => Array.from({ length: sequenceLength / 2 }, () => random.index(vocabularySize));
  return {
    trajectories: [1, 0].map((reward) => {
      const answer = ids();
      const content = answer.map((id) => ({ token: `token_id:${id}`, logprob: -Math.log(vocabularySize) }));
      const choice = {
        finish_reason: "stop",
        index: 0,
        message: { role: "assistant", content: "" },
        logprobs: { content },
        prompt_token_ids: ids(),
        token_ids: answer,
      };
      return { messages_and_choices: [choice], reward };
    }),
  };
}

/** Returns the milliseconds from each request to the end of its answer. */
async function chatTimes(
  client: Hone,
  { atOnce, count }: { readonly atOnce: number; readonly count: number },
): Promise<readonly number[]> {
  const times: number[] = [];
  let begun = 0;
  const ask = async (): Promise<void> => {
    while (begun < count) {
      const content = `Tell me a story about Sam and a cat and a small bird in a small house, number ${begun++}.`;
      const startMs = systemClock.monotonicMs();
      await client.chat.create({
        model: "endless",
        messages: [{ role: "user", content }],
        max_tokens: answerLength,
      });
      times.push(systemClock.monotonicMs() - startMs);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, ask));
  return times;
}

function percentiles(times: readonly number[]): Percentiles {
  const sorted = times.toSorted((left, right) => left - right);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  return { p50: at(0.5), p95: at(0.95) };
}
