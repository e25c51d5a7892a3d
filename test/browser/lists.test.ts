// Tests the lists of the dashboard in a real browser: sorting, choosing columns, saved views, and actions on selected
// models, jobs and trajectories.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { Hone } from "../../src/apps/client/hone.ts";
import { serverOfFile } from "../running-server.ts";
import { finish, registerModel, seenModel, submitJob } from "../served-jobs.ts";
import { allFaults, answerQuestion, inBrowser, openPage } from "./page-under-test.ts";

const ofPage = serverOfFile({ flags: seenModel });

/** Returns the texts of a column's cells, from the top. */
async function cellsOf(page: Page, table: string, heading: string): Promise<readonly string[]> {
  const region = page.getByRole("region", { name: table, exact: true }).last();
  const heads = await region.locator("thead th").allTextContents();
  const place = heads.findIndex((head) => head.trim() === heading) + 1;
  return region.locator(`tbody td:nth-child(${place})`).allTextContents();
}

test(
  "a reader sorts trajectories, adds a metric as a column, and returns to the saved view",
  inBrowser,
  async () => {
    const server = ofPage();
    const hone = new Hone({ baseUrl: server.url, apiKey: server.apiKey });
    const modelId = await registerModel(server, "sorted");
    const trajectories = [0.5, -1, 10].map((reward) => ({
      messages_and_choices: [{ role: "user", content: `worth ${reward}` }],
      reward,
      metrics: { a: 1, b: 1, c: 1, d: 1, speed: reward * 2 },
    }));
    await hone.trajectories.log(modelId, { split: "val", trajectory_groups: [{ trajectories }] });
    const { page, close } = await openPage(server, { at: `#/trajectories/${modelId}?split=val` });
    await page.getByRole("button", { name: "reward" }).click();
    assert.deepEqual(await cellsOf(page, "Trajectories", "reward"), ["10", "0.5", "−1"]);
    await page.getByRole("button", { name: "reward" }).click();
    assert.deepEqual(await cellsOf(page, "Trajectories", "reward"), ["−1", "0.5", "10"]);
    await page.getByText("Columns", { exact: true }).click();
    await page.getByRole("checkbox", { name: "speed" }).check();
    await page.getByRole("checkbox", { name: "source" }).uncheck();
    assert.deepEqual(await allFaults(page), []);
    await page.keyboard.press("Escape");
    assert.deepEqual(await cellsOf(page, "Trajectories", "speed"), ["−2", "1", "20"]);
    await page.getByRole("checkbox", { name: "Select all rows of this page" }).check();
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "CSV" }).click();
    const [names = "", ...lines] = readFileSync(await (await saved).path(), "utf8").split("\r\n");
    assert.match(names, /^#,reward,prompt,answer,.*speed/);
    assert.deepEqual(
      lines.slice(0, 3).map((line) => line.split(",")[2]),
      ["worth -1", "worth 0.5", "worth 10"],
      "the file has the order of the table",
    );
    await page.getByText("Saved views", { exact: true }).click();
    await page.getByLabel("Name of the view").fill("لغة");
    await page.keyboard.press("Enter");
    assert.deepEqual(await allFaults(page), []);
    await page.goto(`${server.url}/#/trajectories/${modelId}`);
    await page.reload();
    await page.getByText("3 trajectories").waitFor();
    await page.getByText("Saved views", { exact: true }).click();
    await page.getByRole("link", { name: "لغة" }).click();
    await page.getByRole("columnheader", { name: "speed" }).waitFor();
    assert.equal(await page.getByRole("columnheader", { name: "source" }).count(), 0);
    assert.deepEqual(await cellsOf(page, "Trajectories", "reward"), ["−1", "0.5", "10"]);
    assert.equal(await page.getByLabel("Split").inputValue(), "val");
    await page.getByLabel("Metrics").fill("speed>=1, a=1");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByRole("cell", { name: "worth -1" }).waitFor({ state: "detached" });
    assert.deepEqual(await cellsOf(page, "Trajectories", "speed"), ["1", "20"]);
    await page.getByLabel("Metrics").fill("speed");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByText("such as speed>=0.5").waitFor();
    const many = Array.from({ length: 60 }, (_, index) => ({ reward: index, metrics: { a: 2 } }));
    await hone.trajectories.log(modelId, { split: "val", trajectory_groups: [{ trajectories: many }] });
    await page.getByLabel("Metrics").fill("a=2");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByText("60 trajectories, mean reward 29.5").waitFor();
    await page.getByRole("checkbox", { name: "Select all rows of this page" }).check();
    await page.getByRole("button", { name: "Select all matching rows" }).click();
    await page.getByText("60 selected").waitFor();
    await page.getByRole("link", { name: "Older" }).click();
    await page.getByRole("checkbox", { name: "Select trajectory 4", exact: true, checked: true }).waitFor();
    await close();
  },
);

test("selected trajectories are saved with their messages, and a job trains on them", inBrowser, async () => {
  const server = ofPage();
  const hone = new Hone({ baseUrl: server.url, apiKey: server.apiKey });
  const modelId = await registerModel(server, "chosen");
  await finish(server, await submitJob(server, modelId, 2));
  const { page, close } = await openPage(server, { at: `#/trajectories/${modelId}` });
  const actions = page.getByRole("group", { name: "Actions on selected rows" });
  for (const number of [5, 6, 7])
    await page.getByRole("checkbox", { name: `Select trajectory ${number}` }).check();
  await actions.getByText("3 selected").waitFor();
  const saved = page.waitForEvent("download");
  await actions.getByRole("button", { name: "JSONL" }).click();
  const lines = readFileSync(await (await saved).path(), "utf8")
    .trim()
    .split("\n");
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).messages_and_choices[0].content),
    ["question 1", "question 1", "question 1"],
  );
  await actions.getByRole("button", { name: "Train" }).click();
  await answerQuestion(page, /^Train the model on 3 trajectories in 1 group/, "Start the job");
  await page.getByRole("status").getByText("Job created.").waitFor();
  await page.getByText("succeeded").first().waitFor({ timeout: 90_000 });
  const [job] = await hone.jobs.list({ model_id: modelId }).all();
  assert.deepEqual([job?.counts?.groups_submitted, job?.counts?.trajectories], [1, 3]);
  await close();
});

test("selected jobs are compared, and selected models are deleted", inBrowser, async () => {
  const server = ofPage();
  const hone = new Hone({ baseUrl: server.url, apiKey: server.apiKey });
  const modelId = await registerModel(server, "kept");
  const ids = [await submitJob(server, modelId, 2), await submitJob(server, modelId, 2)];
  for (const id of ids) await finish(server, id);
  for (const name of ["gone-1", "gone-2"]) await registerModel(server, name);
  const { page, close } = await openPage(server, { at: "#/jobs?model=P%2Fkep" });
  for (const id of ids) await page.getByRole("checkbox", { name: `Select job ${id.slice(-8)}` }).check();
  assert.deepEqual(await allFaults(page), []);
  await page.getByRole("link", { name: "Compare" }).click();
  await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
  for (const id of ids) await page.getByRole("link", { name: new RegExp(id.slice(-8)) }).waitFor();
  await page.locator(".plot canvas").first().waitFor();

  await page.goto(`${server.url}/#/models`);
  for (const name of ["gone-1", "gone-2"])
    await page.getByRole("checkbox", { name: `Select p/${name}` }).check();
  assert.deepEqual(await allFaults(page), []);
  await page.getByRole("button", { name: "Delete" }).click();
  const question = page.getByRole("dialog", { name: "Delete 2 models?" });
  await question.getByText("recorded conversations of the selection will be lost").waitFor();
  assert.deepEqual(await allFaults(page), []);
  await page.keyboard.press("Escape");
  // By tag name, because the role of a dialog that is closed, but not yet removed, is hidden.
  await page.locator("dialog", { hasText: "Delete 2 models?" }).waitFor({ state: "detached" });
  await page.locator("button:focus", { hasText: "Delete" }).waitFor();
  await page.keyboard.press("Enter");
  await question.locator("button:focus", { hasText: "Cancel" }).waitFor();
  await answerQuestion(page, "Delete 2 models?", "Delete 2 models");
  await page.getByRole("status").getByText("2 models deleted.").waitFor();
  await page.getByRole("link", { name: /gone-1$/ }).waitFor({ state: "detached" });
  const isFocusLost = await page.evaluate("document.activeElement === document.body");
  assert.equal(isFocusLost, false);
  const left = (await hone.models.list().all()).map(({ name }) => name);
  assert.ok(left.includes("kept") && !left.includes("gone-1") && !left.includes("gone-2"));
  await close();
});
