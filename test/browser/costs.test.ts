// Tests in a real browser that a server with prices shows costs in the views of conversations, jobs, trajectories,
// evaluations, traces and keys, and before a job starts.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { costText } from "../../src/apps/client/cost-text.ts";
import { Hone } from "../../src/apps/client/hone.ts";
import { call, eventually, serverOfFile } from "../running-server.ts";
import { finish, registerModel, seenModel, submitJob } from "../served-jobs.ts";
import { allFaults, inBrowser, openPage } from "./page-under-test.ts";

const ofPage = serverOfFile({
  flags: [...seenModel, "--costs-prices", "prompt=100,answer=300,training=5000", "--costs-currency", "EUR"],
});

/** Returns the value of a fact in the shown view. */
const factOf = (page: Page, name: string) =>
  page.locator("dt", { hasText: new RegExp(`^${name}$`) }).locator("xpath=following-sibling::dd[1]");

test("the views show what conversations, trajectories, jobs and keys cost", inBrowser, async () => {
  const server = ofPage();
  const hone = new Hone({ baseUrl: server.url, apiKey: server.apiKey });
  const modelId = await registerModel(server, "priced");
  const jobId = await submitJob(server, modelId, 2);
  await finish(server, jobId);
  const messages = [{ role: "user", content: "Which word?" }];
  for (const step of [0, 1]) {
    const { choices } = await hone.chat.create({
      model: `p/priced:step${step}`,
      messages,
      max_tokens: 4,
      n: 2,
    });
    const trajectories = choices.map((choice) => ({
      messages_and_choices: [...messages, choice],
      reward: step,
    }));
    await call(server, "POST", `/v1/preview/models/${modelId}/log`, {
      body: { split: "val", step, trajectory_groups: [{ trajectories }] },
    });
  }
  await eventually("the usage is stored", async () =>
    (await hone.keys.usage().all()).some(({ requests }) => requests === 4) ? true : null,
  );
  const { page, close } = await openPage(server, { at: `#/jobs/${jobId}` });
  const job = await hone.jobs.get(jobId);
  await factOf(page, "cost")
    .getByText(costText(job) ?? "no cost")
    .waitFor();
  await page.goto(`${server.url}/#/conversations?model=${modelId}`);
  await page.getByRole("columnheader", { name: "Cost" }).waitFor();
  await page.locator("tbody a").first().click();
  await factOf(page, "cost")
    .getByText(/^0\.\d+ EUR$/)
    .waitFor();
  const [outline] = await hone.trajectories.outlines(modelId, { source: "log" }).all();
  await page.goto(`${server.url}/#/trajectories/${modelId}/${outline?.id}`);
  await factOf(page, "cost")
    .getByText(/^0\.\d+ EUR$/)
    .waitFor();
  const siblings = page.getByRole("region", { name: "Rewards of its group" });
  assert.equal(await siblings.getByRole("link").count(), 2);
  assert.equal(await siblings.locator("[aria-current=page]").count(), 1);
  await page.goto(`${server.url}/#/evaluation/${modelId}`);
  const means = page.getByRole("row", { name: /^mean cost of a trajectory/ });
  await means.waitFor();
  assert.equal(await means.getByText(/^0\.\d+ EUR$/).count(), 2);
  await page.goto(`${server.url}/#/usage`);
  await page.getByText(/ requests for \d+\.\d\d EUR/).waitFor();
  await page
    .getByRole("region", { name: "Usage" })
    .getByRole("cell", { name: /^[\d.]+ EUR$/ })
    .waitFor();
  assert.deepEqual(await allFaults(page), []);
  await close();
});

test("a traced call shows the cost of its tokens", inBrowser, async () => {
  const server = ofPage();
  const usage = { tiny: { requests: 1, prompt_tokens: 1000, completion_tokens: 1000 } };
  const whole = {
    project_id: "local/p",
    id: "traced",
    trace_id: "t",
    op_name: "ask",
    started_at: "2026-11-21T12:00:00Z",
    ended_at: "2026-11-21T12:00:01Z",
    attributes: {},
    inputs: {},
    output: null,
    summary: { usage },
  };
  await new Hone({ baseUrl: server.url, apiKey: server.apiKey }).call(
    "POST /v2/{entity}/{project}/calls/complete",
    { path: { entity: "local", project: "p" }, body: { batch: [whole] } },
  );
  const { page, close } = await openPage(server, { at: "#/traces/t?project=local/p", colorScheme: "dark" });
  await factOf(page, "cost").getByText("0.40 EUR").waitFor();
  await close();
});

test("the form of a job shows trained tokens, passes and the estimated cost", inBrowser, async () => {
  const server = ofPage();
  const modelId = await registerModel(server, "estimated");
  const { page, close } = await openPage(server, {
    at: `#/train?model=${modelId}`,
    colorScheme: "dark",
    width: 390,
  });
  const line = JSON.stringify({
    messages: [
      { role: "user", content: "A long question that is not trained on" },
      { role: "assistant", content: "Ho" },
    ],
  });
  await page.getByLabel("File, with a JSON object per line").setInputFiles({
    name: "talks.jsonl",
    mimeType: "application/jsonl",
    buffer: Buffer.from(`${line}\n${line}`),
  });
  assert.equal(await page.getByLabel("Batch size").getAttribute("placeholder"), "2 (default)");
  const small = page.getByText("the job takes 1 step at a learning rate of 0.00005, which hardly changes");
  await small.waitFor();
  await page.getByLabel("Learning rate").fill("0.001");
  await small.waitFor({ state: "detached" });
  const tokens = factOf(page, "trained tokens");
  await tokens.getByText("× 1 pass").waitFor();
  const count = Number((await tokens.textContent())?.split(" ")[1]);
  assert.ok(count > 0 && count <= 10, `${count} tokens of two short answers`);
  await page.getByLabel("Passes over the data").fill("4");
  await tokens.getByText(`about ${count} × 4 passes`).waitFor();
  const cost = (count * 4 * 5000) / 1e6;
  await factOf(page, "estimated cost")
    .getByText(`about ${costText({ cost, currency: "EUR" })}`)
    .waitFor();
  assert.deepEqual(await allFaults(page), []);
  assert.equal(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0);
  await close();
});
