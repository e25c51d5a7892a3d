// Tests in a real browser how a user starts training jobs: on an uploaded file after a preview, and again on the data
// of an earlier job with other settings.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Hone } from "../../src/apps/client/hone.ts";
import { serverOfFile } from "../running-server.ts";
import { finish, registerModel, seenModel, submitJob } from "../served-jobs.ts";
import { allFaults, inBrowser, openPage, seriousFaults } from "./page-under-test.ts";

const ofPage = serverOfFile({ flags: seenModel });

test("a user uploads conversations, sees rows and tokens, and starts the job", inBrowser, async () => {
  const server = ofPage();
  const hone = new Hone({ baseUrl: server.url, apiKey: server.apiKey });
  const modelId = await registerModel(server, "uploaded");
  const { page, close } = await openPage(server, { at: `#/models/${modelId}` });
  await page.locator("summary", { hasText: "Train" }).click();
  await page.getByRole("link", { name: "Train on a file" }).click();
  const conversation = (answer: string) =>
    JSON.stringify({
      messages: [
        { role: "user", content: "Hi" },
        { role: "assistant", content: answer },
      ],
    });
  const upload = (...lines: readonly string[]) =>
    page.getByLabel("File, with a JSON object per line").setInputFiles({
      name: "talks.jsonl",
      mimeType: "application/jsonl",
      buffer: Buffer.from(lines.join("\n")),
    });
  await upload("{", conversation("Ho"));
  await page.getByText("Line 1: not a JSON object.").waitFor();
  await upload(conversation("Ho"), conversation("Hey"), conversation("Hello"));
  await page.getByText("unknown before the first job").waitFor();
  assert.equal(await page.getByText("cost").count(), 0, "a server without prices shows no costs");
  await page.getByText(/^about \d+ × 1 pass$/).waitFor();
  await page.locator("mark", { hasText: "Hey" }).waitFor();
  assert.deepEqual(await seriousFaults(page), []);
  await page.getByLabel("Learning rate").fill("0.002");
  await page.getByLabel("Passes over the data").fill("2");
  await page.getByRole("button", { name: "Start the job" }).click();
  await page.getByText("succeeded").first().waitFor({ timeout: 90_000 });
  const [job] = await hone.jobs.list({ model_id: modelId }).all();
  const { kind, config_changed: changed, config, counts } = job ?? {};
  assert.deepEqual(
    [kind, changed, config?.epochs, counts?.trajectories],
    ["sft", ["epochs", "learning_rate"], 2, 3],
  );
  assert.deepEqual(await hone.files.list().all(), []);
  await page.getByRole("link", { name: "Train again with other settings" }).click();
  assert.equal(await page.getByLabel("Learning rate").inputValue(), "0.002");
  await page.getByLabel("Learning rate").fill("0.004");
  await page.getByText("More settings").click();
  await page.getByLabel("weight decay").fill("0.01");
  await page.getByLabel("assistant turns").selectOption("last");
  assert.deepEqual(await seriousFaults(page), []);
  await page.getByRole("button", { name: "Start the job" }).click();
  await page.getByRole("heading", { name: /^Job / }).waitFor();
  const [again] = await hone.jobs.list({ model_id: modelId }).all();
  assert.deepEqual(
    [again?.kind, again?.config?.learning_rate, again?.config?.epochs, again?.config_changed],
    ["sft", 0.004, 2, ["epochs", "weight_decay", "learning_rate", "assistant_turns"]],
  );
  await close();
});

test("a user trains again on the data of a job with another learning rate", inBrowser, async () => {
  const server = ofPage();
  const hone = new Hone({ baseUrl: server.url, apiKey: server.apiKey });
  const modelId = await registerModel(server, "again");
  const first = await submitJob(server, modelId, 2);
  await finish(server, first);
  const { page, close } = await openPage(server, { at: `#/jobs/${first}`, colorScheme: "dark", width: 390 });
  await page.getByRole("link", { name: "Train again with other settings" }).click();
  assert.equal(await page.getByLabel("Learning rate").inputValue(), "0.001");
  await page.getByLabel("Learning rate").fill("0.0005");
  await page.getByText("More settings").click();
  await page.getByLabel("loss fn").waitFor();
  assert.deepEqual(await seriousFaults(page), []);
  assert.equal(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0);
  await page.getByRole("button", { name: "Start the job" }).click();
  await page.getByText("succeeded").first().waitFor({ timeout: 90_000 });
  const [second, original] = await hone.jobs.list({ model_id: modelId }).all();
  assert.equal(second?.experimental_config?.["learning_rate"], 0.0005);
  assert.deepEqual(second?.counts, original?.counts);
  await close();
});

test(
  "from judging a queue to a better model: judge, preview the rule, start the job, and see the feedback behind it",
  inBrowser,
  async () => {
    const server = ofPage();
    const hone = new Hone({ baseUrl: server.url, apiKey: server.apiKey });
    const modelId = await registerModel(server, "rated");
    const { entity, project } = await hone.models.get(modelId);
    const project_id = `${entity}/${project}`;
    const messages = [{ role: "user", content: "Which word?" }];
    const [call_ids, answers]: [string[], string[]] = [[], []];
    for (const seed of [1, 2, 3, 4]) {
      const { request_id: id, choices } = await hone.chat.create({
        model: modelId,
        messages,
        max_tokens: 6,
        seed,
      });
      answers.push(choices[0]?.message.content ?? "");
      call_ids.push(`hone:///${project_id}/call/${id}`);
    }
    const questions = [{ name: "good", text: "Is it good?", schema: { enum: ["yes", "no"] } }];
    const queue_id = await hone.queues.create({ project_id, name: "words", questions });
    await hone.queues.add({ project_id, queue_id }, { call_ids });
    await hone.rules.create({
      project,
      name: "good-words",
      terms: [{ kind: "annotation", name: "good", rewards: { yes: 1, no: 0 } }],
    });

    const { page, close } = await openPage(server, { at: `#/models/${modelId}` });
    await page.locator("summary", { hasText: "Train" }).click();
    await page.getByRole("link", { name: "Train on feedback" }).click();
    await page.getByText("No prompt has answers with different rewards yet.").waitFor();
    assert.equal(await page.getByRole("button", { name: "Start the job" }).isDisabled(), true);
    await page.goto(`${server.url}/#/queues?project=${encodeURIComponent(project_id)}`);
    await page.getByRole("link", { name: "words", exact: true }).click();
    for (const [index, key] of ["1", "2", "1", "2"].entries()) {
      await page.getByText(`${index} of 4`).waitFor();
      await page.getByRole("heading", { name: "Is it good?" }).waitFor();
      await page.getByRole("heading", { level: 1 }).focus();
      await page.keyboard.press(key);
    }
    await page.getByText("4 of 4").waitFor();

    await page.goto(`${server.url}/#/train?feedback=${modelId}`);
    await page.getByLabel("Reward").selectOption("rule good-words");
    const prompts = page.getByRole("region", { name: "Prompts" });
    await prompts.getByRole("row", { name: /^Which word\? [01], [01], [01], [01]$/ }).waitFor();
    assert.deepEqual(await allFaults(page), []);
    await page.getByRole("button", { name: "Start the job" }).click();
    await page.getByText("succeeded").first().waitFor({ timeout: 90_000 });
    const behind = page.getByRole("region", { name: "Feedback behind version 1" });
    await behind.getByRole("link", { name: "Which word?" }).nth(3).waitFor();
    assert.equal(await behind.getByRole("cell", { name: "good: yes" }).count(), 2);
    const firstAnswer = await behind.getByRole("cell").nth(1).textContent();
    assert.ok(answers.includes(firstAnswer ?? ""), "the beginning of the answer");
    assert.equal(await behind.getByRole("row").count(), 5);
    assert.deepEqual(await allFaults(page), []);
    await behind.getByRole("link").first().click();
    await page.getByRole("region", { name: "Feedback" }).getByText("1 record").waitFor();
    await page.goto(`${server.url}/#/models/${modelId}`);
    await page.getByRole("button", { name: "Download the adapter of version 1" }).waitFor();
    await close();
  },
);
