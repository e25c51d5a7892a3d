// Tests the dashboard in a real browser as the people of a team use it: starting a new server, judging answers, and an
// operator's work with keys, webhooks and stored data.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { promisify } from "node:util";
import { Hone } from "../../src/apps/client/hone.ts";
import { serverOfFile } from "../running-server.ts";
import { registerModel, seenModel, submitJob } from "../served-jobs.ts";
import { allFaults, answerQuestion, inBrowser, openPage } from "./page-under-test.ts";

const ofPage = serverOfFile({ flags: [...seenModel, "--webhooks-allowed", "127.0.0.1"] });

test(
  "the first steps of a new server lead to an answer and to a job that runs in sight",
  inBrowser,
  async () => {
    const server = ofPage();
    const { page, close } = await openPage(server);
    await page.getByRole("heading", { name: "First steps" }).waitFor();
    const command = await page.getByText("curl ").textContent();
    assert.ok(command?.includes(server.url), "the command names this server");
    const { stdout } = await promisify(execFile)("sh", ["-c", command ?? ""], {
      env: { ...process.env, HONE_API_KEY: server.apiKey },
    });
    assert.equal(JSON.parse(stdout).choices.length, 1);
    assert.deepEqual(await allFaults(page), []);

    const jobId = await submitJob(server, await registerModel(server, "first"), 3);
    const jobs = page.getByRole("region", { name: "Newest jobs" }).last();
    await jobs.getByRole("link", { name: /first$/ }).waitFor();
    await jobs.getByText("succeeded").waitFor({ timeout: 90_000 });
    await page.getByRole("button", { name: "Dismiss" }).click();
    await page.getByRole("heading", { name: "First steps" }).waitFor({ state: "detached" });
    await jobs.getByRole("link", { name: /first$/ }).click();
    await page.getByRole("heading", { name: `Job ${jobId.slice(-8)}` }).waitFor();
    await page.getByRole("link", { name: "Models", exact: true }).click();
    await page
      .locator("main")
      .getByRole("link", { name: /first$/ })
      .waitFor();
    await close();
  },
);

test(
  "feedback has statistics, filters and links, and selected chats are saved, queued and deleted",
  inBrowser,
  async () => {
    const server = ofPage();
    const hone = new Hone({ baseUrl: server.url, apiKey: server.apiKey });
    const modelId = await registerModel(server, "judged");
    const { entity, project } = await hone.models.get(modelId);
    const projectId = `${entity}/${project}`;
    for (const [index, content] of ["One", "Two", "=Three"].entries()) {
      const messages = [{ role: "user", content }];
      const n = index === 2 ? 2 : 1;
      const { request_id: id } = await hone.chat.create({ model: modelId, max_tokens: 2, messages, n });
      const about = { project_id: projectId, weave_ref: `weave:///${projectId}/call/${id}`, creator: "Ann" };
      await hone.feedback.createBatch([
        { ...about, feedback_type: "score", payload: { value: index / 2 } },
        { ...about, feedback_type: "vendor.reaction.1", payload: { emoji: index === 0 ? "👎" : "👍" } },
      ]);
    }
    const queueId = await hone.queues.create({ project_id: projectId, name: "to judge" });
    const { page, close } = await openPage(server, {
      at: `#/feedback?project=${encodeURIComponent(projectId)}`,
    });
    await page.getByText("6 records").waitFor();
    await page.getByRole("img", { name: /^Histogram from 0 to 1/ }).waitFor();
    assert.deepEqual(await allFaults(page), []);
    await page.getByRole("textbox", { name: "Type" }).fill("score");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByText("3 records").waitFor();
    await page.getByRole("cell", { name: "score: 0.5" }).waitFor();
    await page
      .getByRole("button", { name: /^Raw record/ })
      .first()
      .click();
    await page.getByRole("dialog", { name: "Raw record" }).getByText('"feedback_type": "score"').waitFor();
    assert.deepEqual(await allFaults(page), []);
    await page.keyboard.press("Escape");
    const file = page.waitForEvent("download");
    await page.getByRole("button", { name: "CSV" }).first().click();
    assert.equal(
      readFileSync(await (await file).path(), "utf8")
        .trim()
        .split("\r\n").length,
      4,
    );
    await page
      .getByRole("link", { name: /^conversation / })
      .first()
      .click();
    await page.getByRole("heading", { name: "Conversation", exact: true }).waitFor();

    await page.goto(`${server.url}/#/conversations?model=${modelId}`);
    await page.getByRole("cell", { name: "=Three" }).waitFor();
    await page.getByRole("checkbox", { name: "Select all" }).check();
    const actions = page.getByRole("group", { name: "Actions on selected rows" });
    await actions.getByText("3 selected").waitFor();
    const saved = page.waitForEvent("download");
    await actions.getByRole("button", { name: "JSONL" }).click();
    const lines = readFileSync(await (await saved).path(), "utf8")
      .trim()
      .split("\n");
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).messages[0].content),
      ["=Three", "Two", "One"],
    );
    await actions.getByRole("combobox", { name: "Add to queue" }).selectOption("to judge");
    await page.getByRole("status").getByText("4 added").waitFor();
    const items = await hone.queues.items({ project_id: projectId, queue_id: queueId }).all();
    assert.equal(items.length, 4, "an item for each choice of the conversation with two");
    assert.deepEqual(await allFaults(page), []);
    await page.getByRole("row", { name: /Two/ }).getByRole("checkbox").uncheck();
    await actions.getByRole("button", { name: "Delete" }).click();
    await answerQuestion(page, "Delete 2 conversations?", "Delete 2 conversations");
    await page.getByRole("cell", { name: "=Three" }).waitFor({ state: "detached" });
    const left = await hone.recordings.list({ model: modelId }).all();
    assert.deepEqual(
      left.map(({ prompt }) => prompt),
      ["Two"],
    );
    await close();
  },
);

test(
  "an operator makes, limits, rotates and revokes a key, adds a webhook, and sees what is stored",
  inBrowser,
  async () => {
    const server = ofPage();
    const { page, close } = await openPage(server, { at: "#/usage" });
    await page.getByRole("button", { name: "New key" }).click();
    const dialog = page.getByRole("dialog", { name: "New key" });
    await dialog.getByLabel("Name").fill("nightly");
    await dialog.getByLabel("Owner").fill("Ann");
    await dialog.getByLabel("chat", { exact: true }).check();
    await dialog.getByText("In the navigation, the key opens Chat.").waitFor();
    await dialog.getByText("Limits, project and expiry").click();
    assert.deepEqual(await allFaults(page), []);
    await dialog.getByLabel("Requests per minute").fill("600");
    await dialog.getByRole("button", { name: "Create" }).click();
    const shown = page.getByRole("dialog", { name: "Copy the secret now" });
    const secret = (await shown.locator("pre").textContent()) ?? "";
    await shown.getByText("stores only the key's hash").waitFor();
    await page.keyboard.press("Escape");
    await page.mouse.click(5, 5);
    const answerTo = async (key: string) => {
      const hone = new Hone({ baseUrl: server.url, apiKey: key, retries: 0 });
      const [model = ""] = await hone.served.bases();
      return hone.chat.create({ model, max_tokens: 1, messages: [{ role: "user", content: "Hi" }] });
    };
    assert.equal((await answerTo(secret)).choices.length, 1);
    await shown.getByRole("button", { name: "Done" }).click();
    await page.getByRole("button", { name: "New key" }).and(page.locator(":focus")).waitFor();
    const row = page
      .getByRole("region", { name: "Keys" })
      .last()
      .getByRole("row", { name: /nightly/ });
    await row.getByText("600 requests/min").waitFor();
    const firstKey = page.getByTitle("The server made this key when it started.");
    assert.deepEqual([await firstKey.count(), await firstKey.isDisabled()], [1, true]);
    await row.getByRole("button", { name: "Change the limits of nightly" }).click();
    await page.getByRole("spinbutton", { name: "Requests per minute" }).fill("60");
    await page.getByRole("button", { name: "Save" }).click();
    await row.getByText("60 requests/min").waitFor();
    await row.getByRole("button", { name: "Rotate nightly" }).click();
    await answerQuestion(page, "Give nightly a new secret?", "Make a new secret");
    const rotated = (await shown.locator("pre").textContent()) ?? "";
    assert.notEqual(rotated, secret);
    await shown.getByRole("button", { name: "Done" }).click();
    await row.getByRole("button", { name: "Revoke nightly" }).click();
    await answerQuestion(page, "Revoke nightly?", "Revoke the key");
    await page.getByRole("status").getByText("nightly revoked.").waitFor();
    await row.getByText("revoked").waitFor();
    await assert.rejects(answerTo(rotated), { status: 401 });
    assert.deepEqual(await allFaults(page), []);

    await page.getByRole("link", { name: "Webhooks" }).click();
    await page.getByRole("button", { name: "New webhook" }).click();
    await page.getByLabel("URL of the receiver").fill("http://127.0.0.1:9/hone");
    await page.getByLabel("feedback.created").check();
    await page.getByRole("button", { name: "Create" }).click();
    assert.match((await shown.locator("pre").textContent()) ?? "", /^whsec_/);
    await shown.getByText("in plain text").waitFor();
    await shown.getByRole("button", { name: "Done" }).click();
    await page.getByRole("link", { name: "http://127.0.0.1:9/hone" }).click();
    await page.getByText("No deliveries yet.").waitFor();
    await new Hone({ baseUrl: server.url, apiKey: server.apiKey }).feedback.create({
      project_id: "local/games",
      weave_ref: "weave:///local/games/call/1",
      feedback_type: "score",
      payload: { value: 1 },
    });
    const again = page.getByRole("button", { name: "Send again" });
    await again.waitFor();
    assert.ok(await again.isDisabled(), "a delivery that the server still tries to send");
    await page.getByRole("button", { name: "Disable http://127.0.0.1:9/hone" }).click();
    await page.getByRole("status").getByText("Webhook disabled.").waitFor();
    await page.getByTitle("The webhook is disabled.").waitFor();
    assert.deepEqual(await allFaults(page), []);
    await page.getByRole("link", { name: "Retention" }).click();
    await page.getByRole("region", { name: "Limits" }).first().waitFor();
    await page.getByRole("link", { name: "Base models" }).click();
    await page.getByText("Memory when loaded").waitFor();
    await close();
  },
);
