// Tests random agents: sessions of several turns over four APIs, with and without streaming, with tools, parallel calls
// and rewritten histories. A job trains on exactly the tokens that the model sampled, each in its own context.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Random, seededRandom } from "../src/base/domain/random.ts";
import { inProof, searchSeed } from "../src/base/domain/testing/search.ts";
import { type Agent, apis, type Wish } from "./random-agents.ts";
import { rolloutSessions, type Tokens } from "./rollout-sessions.ts";
import { eventually, serverOfFile } from "./running-server.ts";
import { toolModel } from "./served-jobs.ts";

const server = serverOfFile({ flags: toolModel });
/** Number of sessions that run at the same time, one for each API. Together they form one group. */
const groupSize = apis.length;
const sessionCount = 200;

/** Holds a random session of two to four turns; returns the number of its calls. */
async function converse<Item>(agent: Agent<Item>, random: Random): Promise<number> {
  const isTrue = (chance: number): boolean => random.uniform() < chance;
  const tools = isTrue(0.5);
  const wish = (): Wish => ({
    seed: random.index(1e9),
    streams: isTrue(0.5),
    tool: tools ? (isTrue(0.4) ? "required" : "none") : null,
  });
  let history: readonly Item[] = agent.says("Who are you?");
  let callCount = 0;
  for (let turn = random.index(3); turn < 4; turn++) {
    const branches = [history, ...(isTrue(0.3) ? [[...history, ...agent.says("Be brief.")]] : [])];
    const answers = await Promise.all(branches.map((branch) => agent.ask(branch, wish())));
    callCount += branches.length;
    history = [...history, ...(answers[0] ?? []), ...agent.says(isTrue(0.5) ? "Why?" : "Go on, slowly.")];
    // Changes the first message, or forgets all.
    if (isTrue(0.15)) history = [...agent.says("Where are you?"), ...history.slice(1)];
    else if (isTrue(0.1)) history = agent.says("Start again.");
  }
  return callCount;
}

const textOf = ({ prompt_token_ids: prompt, token_ids: ids }: Tokens): string =>
  JSON.stringify([prompt, ids]);

interface Trajectory {
  readonly metadata: { readonly rollout_id: string };
  readonly messages_and_choices: readonly object[];
  readonly additional_histories: readonly { readonly messages_and_choices: readonly object[] }[];
}

test("a job trains on the tokens that the model sampled in 200 random sessions", inProof, async () => {
  const { modelId, send, create, detail, finish, recorded } = await rolloutSessions(server(), "random");
  /** For each rollout id, the recorded calls in a form that can be compared with training data. */
  const sampled = new Map<string, readonly string[]>();
  let tokenCount = 0;
  const hold = async (index: number): Promise<void> => {
    const random = seededRandom("rollouts", searchSeed, index);
    const session = await create({ group: `g${Math.floor(index / groupSize)}` });
    let callCount = 0;
    await apis[index % apis.length](session, async (agent) => {
      callCount = await converse(agent, random);
    });
    const { calls, sequences } = await detail(session);
    assert.equal(calls.length, callCount);
    const tokens = new Map<string, Tokens>();
    for (const { request_id: id } of calls) tokens.set(id, await recorded(id));
    assert.equal(sequences.flatMap(({ answers }) => answers).length, callCount);
    for (const { answers } of sequences) {
      let before: readonly number[] = [];
      for (const { request_id: id } of answers) {
        const { prompt_token_ids: prompt, token_ids: ids } = tokens.get(id) ?? assert.fail(id);
        assert.deepEqual(prompt.slice(0, before.length), before, `seed ${searchSeed}, session ${index}`);
        before = [...prompt, ...ids];
        tokenCount += ids.length;
      }
    }
    sampled.set(session.rollout_id, [...tokens.values()].map(textOf).toSorted());
    await finish(session, (index >> 1) % 2);
  };
  for (let start = 0; start < sessionCount; start += groupSize)
    await Promise.all(Array.from({ length: groupSize }, (_, index) => hold(start + index)));
  const { id } = await send("POST", "/v1/preview/training-jobs", {
    model_id: modelId,
    rollouts: { whole_groups: true },
    experimental_config: { learning_rate: 1e-3 },
  });
  const job = await eventually("the job ends", async () => {
    const one = await send("GET", `/v1/preview/training-jobs/${id}`);
    return ["succeeded", "failed"].includes(one.state) ? one : null;
  });
  assert.equal(job.state, "succeeded", job.error_message);
  assert.equal(job.counts.trainable_tokens, tokenCount);
  const trained = new Map<string, string[]>();
  const path = `/v1/preview/models/${modelId}`;
  for (let after = "", hasMore = true; hasMore;) {
    const page = await send("GET", `${path}/trajectories/outlines?source=job&limit=100${after}`);
    for (const { id: number } of page.data) {
      const one: Trajectory = await send("GET", `${path}/trajectories/${number}`);
      const texts = trained.get(one.metadata.rollout_id) ?? [];
      for (const { messages_and_choices: items } of [one, ...one.additional_histories])
        texts.push(...items.flatMap((item) => ("token_ids" in item ? [textOf(item as Tokens)] : [])));
      trained.set(one.metadata.rollout_id, texts.toSorted());
    }
    hasMore = page.has_more;
    after = `&after=${page.last_id}`;
  }
  assert.deepEqual(trained, sampled);
  // Training computes the same log-probabilities only with the same tokens in the same contexts.
  const { metrics } = await send("GET", `${path}/checkpoints/1`);
  const difference = metrics["loss/first_max_logprob_difference"];
  assert.ok(difference < 1e-4, `training and serving differ by ${difference}`);
});
