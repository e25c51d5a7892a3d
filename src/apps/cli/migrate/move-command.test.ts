// Tests of `hone models move` between two servers with simulated training.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Hone } from "../../client/hone.ts";
import type { TrainingJobCreate } from "../../client/api.ts";
import { fakeServer, keys, playJob, registeredModel } from "../../../api/http/testing/fake-server.ts";
import { commandProcess } from "../testing/command-process.ts";

const run = commandProcess();

async function listening(t: TestContext) {
  const server = await fakeServer();
  const url = await server.app.listen({ host: "127.0.0.1", port: 0 });
  t.after(() => server.close());
  return { server, url, client: new Hone({ baseUrl: url, apiKey: keys.member }) };
}

/** Training requests of two jobs, with additional client fields, a group without trajectories, and settings. */
const sent: readonly Omit<TrainingJobCreate, "model_id">[] = [
  {
    trajectory_groups: [
      {
        trajectories: [1, 0].map((reward) => ({
          reward,
          messages_and_choices: [
            { role: "user", content: "a question" },
            { role: "assistant", content: `answer ${reward}` },
          ],
          metadata: { scene: reward },
          seen_by: "client",
        })),
        metadata: { problem: 7 },
        exceptions: [{ type: "TimeoutError", message: "too slow" }],
        source: "of the client's own",
      },
      { trajectories: [], metadata: { problem: 8 } },
    ],
    experimental_config: { learning_rate: 3e-5, ppo: true },
  },
  { trajectory_groups: [{ trajectories: [{ reward: 0.5 }] }], experimental_config: { epsilon: 0.3 } },
];

type Listening = Awaited<ReturnType<typeof listening>>;

/** Creates a model `p/m`, and trains one version per job. */
async function trained({ server, client }: Listening, jobs = sent): Promise<string> {
  const modelId = await registeredModel(server);
  for (const [index, body] of jobs.entries()) {
    await client.jobs.create({ model_id: modelId, ...body });
    await playJob(server, { step: index + 1 });
  }
  return modelId;
}

/** Returns the training requests of a model's jobs, oldest first, as the server stores them. */
async function contentOf({ client }: Listening, project: string, name: string) {
  const [model] = await client.models.list({ project, name }).all();
  const jobs = await client.jobs.list({ model_id: model.id, order: "asc" }).all();
  return await Promise.all(
    jobs.map(async ({ id, experimental_config, config_not_applied }) => {
      const groups = await linesOf(client, model.id, { job_id: id, format: "groups" });
      const rows = await linesOf(client, model.id, { job_id: id, format: "jsonl" });
      return { experimental_config, config_not_applied, groups, rows };
    }),
  );
}

async function linesOf(
  client: Hone,
  modelId: string,
  query: { readonly job_id: string; readonly format: "groups" | "jsonl" },
) {
  const parts: Uint8Array[] = [];
  for await (const part of await client.trajectories.export(modelId, { source: "jobs", ...query }))
    parts.push(part);
  const lines = Buffer.concat(parts).toString().split("\n").filter(Boolean);
  return lines.map((line) => {
    const {
      id: _id,
      source_id: _source,
      recorded_at: _at,
      ...rest
    } = JSON.parse(line) as Record<string, unknown>;
    return rest;
  });
}

/** Completes a number of queued jobs, one after another, as a trainer would. */
async function playing({ server, client }: Listening, count: number): Promise<void> {
  for (let step = 1; step <= count; step++) {
    while ((await client.jobs.list({ state: "queued" }).all()).length === 0)
      await new Promise((resolve) => setTimeout(resolve, 5));
    await playJob(server, { step, versionId: `moved-${step}` });
  }
}

test("replays a model's jobs unchanged for a model with the same name on another server", async (t) => {
  const [here, there] = [await listening(t), await listening(t)];
  await trained(here);
  const environment = { HONE_URL: here.url, HONE_API_KEY: keys.member, HONE_TO_API_KEY: keys.member };
  const words = ["models", "move", "p/m", "--to", there.url];
  const planned = await run([...words, "--dry-run"], { environment });
  assert.equal(planned.status, 0, planned.errors);
  assert.match(planned.output, /^would replay 2 jobs for p\/m:\n {2}1\. job \S+, which made version 1/);
  assert.deepEqual(await there.client.models.list().all(), []);
  const keyless = await run(words, { environment: { HONE_URL: here.url, HONE_API_KEY: keys.member } });
  assert.equal(keyless.status, 1);
  assert.match(keyless.errors, /There are no credentials\. Set HONE_API_KEY/);

  const [moved] = await Promise.all([run(words, { environment }), playing(there, 2)]);
  assert.equal(moved.status, 0, moved.errors);
  assert.equal(moved.output, `acme/p/m continues as acme/p/m at ${there.url}, version 2\n`);
  assert.match(
    moved.errors,
    /^job 1 of 2: 2 groups, submitted as \S+\njob 1 of 2: version 1\njob 2 of 2: 1 groups/,
  );
  assert.deepEqual(await contentOf(there, "p", "m"), await contentOf(here, "p", "m"));

  const again = await run(words, { environment });
  assert.deepEqual([again.status, again.output], [1, ""]);
  const goneOn = await run([...words, "--go-on", "--json"], { environment });
  assert.equal(goneOn.status, 0, goneOn.errors);
  assert.deepEqual(
    (JSON.parse(goneOn.output) as { readonly jobs: readonly { readonly step: number }[] }).jobs.map(
      ({ step }) => step,
    ),
    [1, 2],
  );
  assert.equal((await there.client.jobs.list().all()).length, 2);
});

test("replays only the jobs that led to a version, under a new name on the same server", async (t) => {
  const here = await listening(t);
  await trained(here);
  const environment = { HONE_URL: here.url, HONE_API_KEY: keys.member };
  const unnamed = await run(["models", "move", "p/m"], { environment });
  assert.match(unnamed.errors, /Name the new model \(--as project\/name\)/);
  const words = ["models", "move", "p/m:step1", "--as", "p/moved"];
  const [moved] = await Promise.all([run(words, { environment }), playing(here, 1)]);
  assert.equal(moved.output, "acme/p/m continues as acme/p/moved, version 1\n", moved.errors);
  assert.deepEqual(await contentOf(here, "p", "moved"), (await contentOf(here, "p", "m")).slice(0, 1));
});

test("refuses a model that jobs cannot reproduce, with the reason, and merges its weights instead", async (t) => {
  const here = await listening(t);
  const folder = mkdtempSync(join(tmpdir(), "hone-move-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const environment = { HONE_URL: here.url, HONE_API_KEY: keys.member };
  const move = (...words: readonly string[]) => run(["models", "move", "p/m", ...words], { environment });
  const modelId = await registeredModel(here.server);
  assert.match((await move("--as", "p/n")).errors, /acme\/p\/m has no versions yet/);
  await here.client.jobs.createSupervised({
    model_id: modelId,
    training_data: [
      {
        messages: [
          { role: "user", content: "a" },
          { role: "assistant", content: "b" },
        ],
      },
    ],
  });
  await playJob(here.server, { step: 1 });
  const refused = await move("--as", "p/n");
  assert.equal(refused.status, 1);
  assert.match(refused.errors, /Version 1 was made by a job of kind sft.*--merged <folder>/);
  assert.deepEqual(await here.client.models.list({ project: "p", name: "n" }).all(), []);

  const out = join(folder, "merged");
  const planned = await move("--merged", out, "--dry-run", "--json");
  assert.deepEqual(readdirSync(folder), []);
  const told = JSON.parse(planned.output) as Record<string, unknown>;
  assert.deepEqual(
    [told["weights"], told["optimizer_state"], told["folder"], told["dry_run"]],
    ["exact", false, out, true],
  );
  const merged = await move("--merged", out);
  assert.match(
    merged.output,
    /^merged version 1 of acme\/p\/m into its base's weights: .*merged\n.*hone serve --model m-1=/s,
  );
  assert.deepEqual(readdirSync(out), ["merged.json"]);
  assert.match((await move("--merged", out)).errors, /exists; name a new folder/);
});
