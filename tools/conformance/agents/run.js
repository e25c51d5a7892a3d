// `npm test`: runs unmodified coding agents in rollouts of a small model, trains on the rollouts, and prints the
// results. Arguments after `--` select the agents by name: claude, codex, opencode.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { codingAgents } from "./agents.js";
import { checkTrainedTokens } from "./check-tokens.js";
import { lessonsOf } from "./lessons.js";
import { agentRunner } from "./rollout.js";
import { makeModel, startServer } from "./server.js";

const here = fileURLToPath(new URL(".", import.meta.url));
const root = join(here, "..", "..", "..");
const task = "Make the file yes.txt.";
/**
 * Number of rollouts per agent that the job trains on, and maximum number of rollouts added until the rewards differ.
 */
const rolloutCount = 4;
const moreMax = 8;

const folder = mkdtempSync(join(tmpdir(), "hone-agents-"));
for (const name of ["home", "work"]) mkdirSync(join(folder, name));
makeModel(join(root, "models", "hone-tiny"), join(folder, "model"));
const server = await startServer(root, folder);
try {
  const { Hone } = await import(join(root, "dist", "client", "index.js"));
  const hone = new Hone({ baseUrl: server.address, apiKey: null });
  const model = await hone.model("conformance/agent", { base: "agent" });
  const agents = codingAgents({
    packages: join(here, "node_modules"),
    home: join(folder, "home"),
    baseUrl: `${server.address}/v1`,
  });
  const wanted = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(agents);
  const unknown = wanted.find((name) => !Object.hasOwn(agents, name));
  if (unknown !== undefined)
    throw new Error(`There is no agent ${unknown}; the agents are ${Object.keys(agents).join(", ")}.`);
  const run = agentRunner({ root, folder, hone, model, task });

  const lessons = [];
  for (const name of wanted) {
    const { calls } = await run(agents[name], `${name} before training`);
    lessons.push(...lessonsOf(agents[name], calls));
  }
  const taught = await trained(hone, "taught", () =>
    hone.jobs.createSupervised({
      model_id: model.id,
      training_data: lessons,
      config: { epochs: 20, batch_size: 2, learning_rate: 0.004, shuffle: false },
    }),
  );

  const rows = [];
  for (const name of wanted) {
    const rollouts = [];
    const isMixed = () => new Set(rollouts.map(({ reward }) => reward)).size > 1;
    while (rollouts.length < rolloutCount || (!isMixed() && rollouts.length < rolloutCount + moreMax))
      rollouts.push(await run(agents[name], name));
    if (!isMixed())
      throw new Error(`All rollouts of ${name} have the same reward; there is nothing to learn.`);
    rows.push({ agent: agents[name], rollouts });
  }
  const all = rows.flatMap(({ rollouts }) => rollouts);
  const job = await trained(hone, "trained by rewards", () =>
    hone.jobs.create({ model_id: model.id, rollout_ids: all.map(({ rollout_id: id }) => id) }),
  );
  if (job.result_step !== taught.result_step + 1)
    throw new Error(`The job made version ${job.result_step}, not the next one.`);
  const tokenCount = await checkTrainedTokens(hone, model.id, job.id, all);
  if (job.counts.trainable_tokens !== tokenCount)
    throw new Error(`The job trained on ${job.counts.trainable_tokens} of ${tokenCount} sampled tokens.`);
  console.table(rows.map(summaryOf));
  console.log(
    `Version ${job.result_step}: trained on ${tokenCount} tokens, exactly those that were sampled.`,
  );
  console.log(`Last step: ${JSON.stringify(await lastStep(hone, job.id))}`);
} finally {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** Creates a job, waits until it has succeeded, and prints how long it took. */
async function trained(hone, what, create) {
  const start = performance.now();
  const { id } = await create();
  const job = await hone.jobs.wait(id);
  console.log(`${what}: version ${job.result_step} in ${((performance.now() - start) / 1000).toFixed(0)} s`);
  return job;
}

/** Returns the metrics of a job's last optimizer step. */
async function lastStep(hone, jobId) {
  let found = null;
  for await (const { type, data } of hone.jobs.events(jobId)) if (type === "gradient_step") found = data;
  return found;
}

function summaryOf({ agent, rollouts }) {
  const calls = rollouts.flatMap((rollout) => rollout.calls);
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  return {
    agent: agent.title,
    rollouts: rollouts.length,
    calls: calls.length,
    sequences: sum(rollouts.map(({ sequences }) => sequences.length)),
    "prompt tokens": sum(calls.map(({ usage }) => usage.prompt_tokens)),
    "from the prefix cache": sum(calls.map(({ usage }) => usage.prompt_tokens_details.cached_tokens)),
    rewards: rollouts.map(({ reward }) => reward).join(" "),
  };
}
