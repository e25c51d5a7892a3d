// Tests of the job commands, against a server whose jobs are simulated.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { resolvePreferenceConfig } from "../../base/domain/preferences/preference-config.ts";
import { resolveSupervisedConfig } from "../../base/domain/supervised/supervised-config.ts";
import { playJob } from "../../api/http/testing/fake-server.ts";
import { run, listening, submit } from "./testing/commands-under-test.ts";

test("hone jobs lists, watches and cancels jobs, and exits with status 1 if a watched job fails", async (t) => {
  const { server, modelId, member } = await listening(t);
  const first = await submit(server, modelId);
  const step = { type: "gradient_step" as const, data: { loss: 0.123456789, step: 1 } };
  await playJob(server, { step: 1, events: [step] });
  const second = await submit(server, modelId);
  const { outputs, errors } = await run(
    [
      ["jobs"],
      ["jobs", "list", "--state", "queued"],
      ["jobs", "list", "--model", modelId, "--state", "failed"],
      ["jobs", "watch", first],
      ["jobs", "cancel", second],
      ["jobs", "watch", second, "--json"],
      ["jobs", "watch", "none"],
      ["jobs", "list", "--model", "p/m"],
      ["jobs", "show", second.slice(0, -1)],
      ["jobs", "show", ""],
    ],
    member,
  );
  const idsOf = (table = ""): readonly string[] =>
    table
      .split("\n")
      .slice(1, -1)
      .map((line) => line.split(" ")[0]);
  assert.deepEqual(idsOf(outputs[0]), [second, first]);
  assert.deepEqual(idsOf(outputs[1]), [second]);
  assert.match(outputs[0], /^id +model +kind .*\n\S+ +p\/m +rl /);
  assert.deepEqual(idsOf(outputs[7]), [second, first]);
  assert.match(outputs[8], new RegExp(`^id +${second}\n`));
  assert.match(errors, /2 training jobs have ids that begin with ""; give more of the id/);
  assert.equal(outputs[2], "none\nstatus 0");
  assert.match(outputs[3], /^gradient_step {2}step 1 {2}loss 0\.123\ntraining_ended.*\nstatus 0$/);
  assert.equal(outputs[4], `${second} cancelled\nstatus 0`);
  const [event, status] = outputs[5].split("\n");
  assert.equal((JSON.parse(event) as { readonly type: string }).type, "training_failed");
  assert.equal(status, "status 1");
  assert.equal(outputs[6], "status 1");
  assert.match(
    errors,
    /No training job has an id that begins with "none", and no model has this name\. `hone jobs list` lists the jobs\./,
  );
});

test("hone jobs preference submits a file of preferences, and deletes the upload", async (t) => {
  const { server, modelId, member } = await listening(t);
  const folder = mkdtempSync(join(tmpdir(), "hone-preferences-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "pairs.jsonl");
  writeFileSync(file, `${JSON.stringify({ prompt: "Hi", chosen: "Ho", rejected: "Hum" })}\n`);
  const options = ["--beta", "0.5", "--label-smoothing", "0.1", "--reference", "base", "--epochs", "2"];
  const { outputs, errors } = await run(
    [
      ["jobs", "preference", modelId, file, ...options],
      ["jobs", "preference", modelId, file, "--loss", "ipo", "--gamma", "1"],
    ],
    member,
  );
  const [id, status] = outputs[0].split("\n");
  assert.equal(status, "status 0");
  assert.deepEqual((await server.jobs.find(id))?.task, {
    kind: "preference",
    config: resolvePreferenceConfig({ beta: 0.5, labelSmoothing: 0.1, reference: "base", epochCount: 2 }),
  });
  assert.deepEqual(outputs.slice(1), ["status 1"]);
  assert.match(errors, /^hone: config\.gamma: .*the loss ipo has no such option/);
  assert.deepEqual(readdirSync(join(server.dataFolder, "files")), []);
});

test("hone jobs preference accepts feedback or a file, but not both", async (t) => {
  const { modelId, member } = await listening(t);
  const { outputs, errors } = await run(
    [
      [
        "jobs",
        "preference",
        modelId,
        "--reactions",
        "👍=1,👎=0",
        "--corrections",
        "fix:text",
        "--loss",
        "kto",
      ],
      ["jobs", "preference", modelId, "--corrections", "--dry-run", "--json"],
      ["jobs", "preference", modelId],
      ["jobs", "preference", modelId, "pairs.jsonl", "--preferences"],
    ],
    member,
  );
  assert.match(outputs[0], /^0 pairs of answers to 0 prompts; 0 records.*\n\nNo job was created/);
  const shown = JSON.parse(outputs[1].slice(0, outputs[1].lastIndexOf("\n"))) as Readonly<
    Record<string, unknown>
  >;
  assert.deepEqual([shown["id"], shown["dry_run"]], [null, true]);
  assert.deepEqual(outputs.slice(2), ["status 1", "status 1"]);
  assert.match(errors, /Name a file of preferences, or select feedback/);
  assert.match(errors, /Both pairs\.jsonl and feedback are given/);
});

test("hone jobs sft submits a file of conversations, and deletes the upload", async (t) => {
  const { server, modelId, member } = await listening(t);
  const folder = mkdtempSync(join(tmpdir(), "hone-conversations-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const example = {
    messages: [
      { role: "user", content: "Hi" },
      { role: "assistant", content: "Ho" },
    ],
  };
  const [good, bad] = ["good.jsonl", "bad.jsonl"].map((name) => join(folder, name));
  writeFileSync(good, `${JSON.stringify(example)}\n`);
  writeFileSync(bad, `${JSON.stringify(example)}\n{}\n`);
  const settings = ["--batch-size", "3", "--learning-rate", "0.002", "--epochs", "4", "--no-shuffle"];
  const { outputs, errors } = await run(
    [
      ["jobs", "sft", modelId, good, ...settings],
      ["jobs", "sft", modelId, bad],
      ["jobs", "sft", modelId, join(folder, "none.jsonl")],
      ["jobs", "list", "--kind", "rl"],
    ],
    member,
  );
  const [id, status] = outputs[0].split("\n");
  assert.equal(status, "status 0");
  assert.deepEqual((await server.jobs.find(id))?.task, {
    kind: "sft",
    config: resolveSupervisedConfig({
      batchSize: 3,
      learningRate: 0.002,
      epochCount: 4,
      isShuffled: false,
    }),
  });
  assert.deepEqual(outputs.slice(1), ["status 1", "status 1", "none\nstatus 0"]);
  assert.match(errors, /^hone: line 2 of the file, messages: Field required/);
  assert.match(errors, /none\.jsonl cannot be read/);
  assert.deepEqual(readdirSync(join(server.dataFolder, "files")), []);
});

test("hone jobs show lists trainable and skipped data, counted in groups and in trajectories", async (t) => {
  const { server, modelId, member } = await listening(t);
  const id = await submit(server, modelId, { novel: 1 });
  await server.jobs.addWarning(id, "Something looks odd.");
  const counts = {
    groupsSubmitted: 4,
    groupsTrainable: 2,
    trajectories: 16,
    sequences: 9,
    trainableTokens: 120,
    skipped: { too_long: 3, zero_variance: 8 },
    skippedGroups: { too_long: 1, zero_variance: 2 },
    steps: { count: 9, passCount: 1, sequencesMax: 1 },
  };
  await playJob(server, { step: 1, counts });
  const { outputs } = await run(
    [
      ["jobs", "show", id],
      ["jobs", "show", id, "--json"],
    ],
    member,
  );
  assert.deepEqual(
    outputs[0].split("\n").map((line) => line.split(/ {2,}/)),
    [
      ["id", id],
      ["model", `p/m (${modelId})`],
      ["kind", "rl"],
      ["state", "succeeded"],
      ["result step", "1"],
      [
        "settings",
        "learning_rate 0.0001, passes 1, epsilon 1, epsilon_high 4, importance_sampling_level token, " +
          "kl_penalty_source current_learner, scale_rewards true",
      ],
      ["not applied", "novel"],
      ["steps", "9 on 9 sequences, up to 1 sequence per step"],
      ["groups", "4 (2 trainable)"],
      ["trajectories", "16 (9 trainable sequences)"],
      ["tokens", "120 trainable"],
      [""],
      ["skipped because", "groups", "trajectories"],
      ["too_long", "1", "3"],
      ["zero_variance", "2", "8"],
      [""],
      ["warning: novel was sent and is not applied: this server has no option with this name."],
      [""],
      ["warning: Something looks odd."],
      ["status 0"],
    ],
  );
  const whole = JSON.parse(outputs[1].replace("status 0", "")) as Record<string, Record<string, unknown>>;
  assert.deepEqual(whole["counts"]["skipped"], counts.skipped);
  assert.deepEqual(whole["counts"]["skipped_groups"], counts.skippedGroups);
});
