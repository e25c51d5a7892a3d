// Tests preference training from end to end. First, a small model gives two answers with similar probability. After
// training, the preferred answer is more probable and more frequent.
import assert from "node:assert/strict";
import { test } from "node:test";
import type {
  FeedbackCreateReq,
  FeedbackPreferenceJobCreate,
  TrainingEvent,
} from "../src/apps/client/api.ts";
import { Hone } from "../src/apps/client/hone.ts";
import { callReference } from "../src/base/domain/recordings/call-reference.ts";
import { inProof, searchedOf } from "../src/base/domain/testing/search.ts";
import {
  call,
  eventually,
  newDataFolder,
  removeDataFolder,
  serverOfFile,
  startServer,
} from "./running-server.ts";
import { finish, firstStep, model as tinyModel, registerModel, stepsOf } from "./served-jobs.ts";

const server = serverOfFile();

const questions = [
  "May I go out?",
  "Is it late?",
  "Can we start?",
  "Do you like tea?",
  "Should I wait?",
  "Is the door open?",
  "Are you well?",
  "Will it rain?",
];

/** Prompts that are not among the training prompts. */
const asked = ["Is it far?", "May I ask?", "Do you know him?", "Will you come?"];

const [preferred, other] = ["Yes, of course.", "No, never."];

const conversation = (content: string) => [{ role: "user", content }];

/** Each question with both answers, so that the model learns to give either. */
const lessons = questions.flatMap((question) =>
  [preferred, other].map((content) => ({
    messages: [...conversation(question), { role: "assistant", content }],
  })),
);

const pairs = questions.map((prompt) => ({ prompt, chosen: preferred, rejected: other }));

/** Returns how often samples equal each of the two answers, as a fraction of all samples. */
async function sharesOf(client: Hone, model: string): Promise<{ preferred: number; other: number }> {
  const answers = await Promise.all(
    asked.map((content, seed) =>
      client.chat.create({
        model,
        messages: conversation(content),
        n: 16,
        seed,
        temperature: 1,
        max_tokens: 16,
      }),
    ),
  );
  const texts = answers.flatMap(({ choices }) => choices.map(({ message }) => message.content));
  const shareOf = (wanted: string): number => texts.filter((text) => text === wanted).length / texts.length;
  return { preferred: shareOf(preferred), other: shareOf(other) };
}

type Steps = readonly Readonly<Record<string, number>>[];

/**
 * Waits until a job has ended.
 *
 * @returns the figures of its steps
 */
async function stepsOfJob(client: Hone, { id }: { readonly id: string | null }): Promise<Steps> {
  const taken: Readonly<Record<string, number>>[] = [];
  const onEvent = ({ type, data }: TrainingEvent): void => {
    // Safe cast: the data of a gradient step are numbers.
    if (type === "gradient_step") taken.push(data as Readonly<Record<string, number>>);
  };
  assert.ok(id !== null);
  await client.jobs.wait(id, { onEvent });
  return taken;
}

/** Id of a model that was trained to give either answer; trained only once. */
let taught: Promise<string> | null = null;

async function teach(client: Hone): Promise<string> {
  const { id } = await client.models.create({ project: "p", base_model: "hone-tiny", name: "either" });
  const config = { batch_size: 8, learning_rate: 3e-3, epochs: 8 };
  const lesson = await client.jobs.createSupervised({ model_id: id, training_data: lessons, config });
  await client.jobs.wait(lesson.id);
  return id;
}

/** Trains a copy of the taught model, and checks that the copy gives the preferred answer more often than before. */
async function check(name: string, train: (client: Hone, modelId: string) => Promise<void>): Promise<void> {
  const client = new Hone({ baseUrl: server().url, apiKey: server().apiKey });
  taught ??= teach(client);
  const from = { model: await taught };
  const { id } = await client.models.create({ project: "p", base_model: "hone-tiny", name, from });
  const before = await sharesOf(client, id);
  assert.ok(before.preferred > 0.1 && before.other > 0.05, JSON.stringify(before));
  await train(client, id);
  const after = await sharesOf(client, id);
  const shown = JSON.stringify({ before, after });
  assert.ok(after.preferred >= before.preferred + 0.15 && after.other < before.other, shown);
}

/** Test functions by the name of the test. Each supplies preferences in another way. */
const ways = new Map<string, () => Promise<void>>();

const small = { batch_size: 4, learning_rate: 3e-4, epochs: 4 };

ways.set("learns from pairs to give the preferred answer", () =>
  check("pairs", async (client, modelId) => {
    const job = await client.jobs.createPreference({ model_id: modelId, pairs, config: small });
    const taken = await stepsOfJob(client, job);
    assert.equal(taken.length, 8);
    const [first, last] = [taken[0], taken[taken.length - 1]];
    assert.ok(Math.abs(first["loss"] - Math.LN2) < 1e-3 && Math.abs(first["rewards/margins"]) < 1e-3);
    assert.ok(last["rewards/margins"] > 0.5 && last["rewards/accuracies"] === 1, JSON.stringify(last));
    assert.ok(
      last["logps/chosen"] - last["logps/rejected"] > first["logps/chosen"] - first["logps/rejected"],
    );
  }),
);

ways.set("learns from single thumbs", () =>
  check("thumbs", async (client, modelId) => {
    const thumbs = pairs.flatMap(({ prompt, chosen, rejected }) => [
      { prompt, completion: chosen, label: true },
      { prompt, completion: rejected, label: false },
    ]);
    const config = { loss: "kto" as const, learning_rate: 3e-4, epochs: 4 };
    const job = await client.jobs.createPreference({ model_id: modelId, pairs: thumbs, config });
    const taken = await stepsOfJob(client, job);
    assert.ok(taken.every((step) => step["kl"] >= 0));
    assert.ok(taken[taken.length - 1]["loss"] < taken[0]["loss"]);
  }),
);

/** Weak training. The model also gives other answers than these two, which stronger training would suppress. */
const gentle = { learning_rate: 1e-4, epochs: 4 };

interface Answer {
  readonly call: string;
  readonly text: string | null;
}

/**
 * Requests eight answers to each question.
 *
 * @returns the recorded answers to each question
 */
async function answersOf(client: Hone, modelId: string): Promise<readonly (readonly Answer[])[]> {
  const { entity, project } = await client.models.get(modelId);
  const asking = questions.map(async (content, seed): Promise<readonly Answer[]> => {
    const asked = { messages: conversation(content), n: 8, seed, temperature: 1, max_tokens: 16 };
    const { request_id: requestId, choices } = await client.chat.create({ model: modelId, ...asked });
    const key = { projectId: `${entity}/${project}`, requestId };
    return choices.map(({ index, message }) => ({ call: callReference(key, index), text: message.content }));
  });
  return Promise.all(asking);
}

/** Judges the answers to one question; returns no feedback if all answers are equal. */
type Say = (
  answers: readonly Answer[],
) => readonly Pick<FeedbackCreateReq, "feedback_type" | "payload" | "vendor_ref">[];

/**
 * Trains once on feedback about recorded answers. Checks that the version lists the feedback, and that no later job
 * uses it.
 */
function checkFeedback(
  name: string,
  say: Say,
  request: Omit<FeedbackPreferenceJobCreate, "model_id">,
): Promise<void> {
  return check(name, async (client, modelId) => {
    const { entity, project } = await client.models.get(modelId);
    const said = (await answersOf(client, modelId)).flatMap(say);
    const records = await client.feedback.createBatch(
      said.map((record) => ({ ...record, project_id: `${entity}/${project}` })),
    );
    const body = { model_id: modelId, ...request };
    const shown = await client.jobs.createPreferenceFromFeedback({ ...body, dry_run: true });
    assert.ok(shown.counts.pairs >= 8, JSON.stringify(shown.counts));
    const job = await client.jobs.createPreferenceFromFeedback(body);
    assert.deepEqual(job.counts, shown.counts);
    const taken = await stepsOfJob(client, job);
    assert.ok(taken.length > 1 && taken.every((step) => Number.isFinite(step["loss"])));
    const { counts, result_step: version } = await client.jobs.get(String(job.id));
    assert.deepEqual([counts?.trajectories, counts?.skipped], [job.counts.pairs, {}]);
    const sources = await client.checkpoints.sources(modelId, Number(version)).all();
    const known = new Set(records.map((record) => record.id));
    assert.ok(sources.length > 0);
    for (const { feedback } of sources) for (const { id } of feedback) assert.ok(known.has(id));
    assert.equal((await client.jobs.createPreferenceFromFeedback(body)).id, null);
  });
}

const isPreferred = ({ text }: Answer): boolean => text === preferred;

ways.set("learns from ratings of its recorded answers", () =>
  checkFeedback(
    "rated",
    (answers) =>
      answers.map((answer) => ({
        feedback_type: "vendor.reaction.1",
        payload: { emoji: isPreferred(answer) ? "👍" : "👎" },
        vendor_ref: answer.call,
      })),
    {
      rule: { terms: [{ kind: "reaction", rewards: { "👍": 1, "👎": 0 } }] },
      config: { ...gentle, beta: 0.5 },
    },
  ),
);

ways.set("learns from choices with the tokens of the answers", () =>
  check("choices", async (client, modelId) => {
    const chosenPairs = [];
    for (const [seed, content] of questions.entries()) {
      const messages = conversation(content);
      const asked = { messages, n: 16, seed, temperature: 1, max_tokens: 16 };
      const { choices } = await client.chat.create({ model: modelId, ...asked });
      const better = choices.find(({ message }) => message.content === preferred);
      const worse = choices.find(({ message }) => message.content === other);
      if (better !== undefined && worse !== undefined)
        chosenPairs.push({ prompt: messages, chosen: better, rejected: worse });
    }
    assert.ok(chosenPairs.length > 4);
    const job = await client.jobs.createPreference({ model_id: modelId, pairs: chosenPairs, config: small });
    const [first] = await stepsOfJob(client, job);
    assert.ok(Math.abs(first["loss"] - Math.LN2) < 1e-3);
  }),
);

ways.set("learns from comparisons of answers, with another loss", () =>
  checkFeedback(
    "compared",
    (answers) =>
      answers.filter(isPreferred).flatMap(({ call: better }) =>
        answers
          .filter((answer) => !isPreferred(answer))
          .map((worse) => ({
            feedback_type: "comparison",
            payload: { better_than: worse.call },
            vendor_ref: better,
          })),
      ),
    {
      rule: { terms: [{ kind: "preference" }] },
      config: { ...gentle, loss: "simpo", gamma: 2 },
    },
  ),
);

ways.set("learns from corrected answers", () =>
  checkFeedback(
    "corrected",
    (answers) =>
      answers
        .filter((answer) => !isPreferred(answer))
        .map((answer) => ({
          feedback_type: "correction",
          payload: { correction: preferred },
          vendor_ref: answer.call,
        })),
    { corrections: {}, config: { ...gentle, loss: "ipo", beta: 0.5 } },
  ),
);

for (const [name, learn] of searchedOf([...ways], 1)) test(name, inProof, learn);

test(
  "a job whose server is killed resumes after its last step and makes the same version as an undisturbed job",
  inProof,
  async () => {
    const dataFolder = newDataFolder();
    let own = await startServer({ dataFolder, flags: tinyModel });
    try {
      const modelId = await registerModel(own, "killed");
      const many = Array.from({ length: 12 }, (_, index) => ({
        prompt: `question ${index}`,
        chosen: `yes ${index} times`.repeat(8),
        rejected: `no, never ${index}`.repeat(8),
      }));
      const config = { loss: "kto", batch_size: 4, epochs: 2, learning_rate: 1e-3 };
      const body = { model_id: modelId, pairs: many, config };
      const { body: created } = await call(own, "POST", "/v1/preview/preference-training-jobs", { body });
      await firstStep(own, created.id);
      await own.kill();
      own = await startServer({ dataFolder, flags: tinyModel });
      await finish(own, created.id);
      assert.deepEqual(await stepsOf(own, modelId), [0, 1]);
      const client = new Hone({ baseUrl: own.url, apiKey: own.apiKey });
      const events = await client.jobs.events(created.id, { limit: 100 }).all();
      const countOf = (wanted: string): number => events.filter(({ type }) => type === wanted).length;
      assert.deepEqual(
        [countOf("training_started"), countOf("gradient_step"), countOf("training_ended")],
        [1, 12, 1],
      );
      const { id: replayId } = await client.jobs.replay(created.id);
      const replay = await eventually("the replay ends", async () => {
        const job = await client.jobs.get(replayId);
        assert.notEqual(job.state, "failed", job.error_message ?? "");
        return job.replay;
      });
      assert.equal(replay.is_equal, true);
    } finally {
      await own.terminate();
      removeDataFolder(dataFolder);
    }
  },
);
