// Tests in a real browser the views of reward rules and of a model's learning: their explanations and their buttons.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Hone } from "../../src/apps/client/hone.ts";
import { serverOfFile } from "../running-server.ts";
import { registerModel, seenModel } from "../served-jobs.ts";
import { allFaults, answerQuestion, inBrowser, openPage } from "./page-under-test.ts";

const ofPage = serverOfFile({ flags: seenModel });

test(
  "a user reads a rule, makes it automatic, stops it, and starts to train with it",
  inBrowser,
  async () => {
    const server = ofPage();
    const hone = new Hone({ baseUrl: server.url, apiKey: server.apiKey });
    const modelId = await registerModel(server, "ruled");
    const terms = [{ kind: "reaction", rewards: { "👍": 1, "👎": 0 } }] as const;
    const { id } = await hone.rules.create({ project: "p", name: "thumbs", terms });
    const { page, close } = await openPage(server, { at: "#/rules" });
    const status = page.getByRole("status");
    await page.getByRole("button", { name: "thumbs", exact: true }).click();
    const rule = page.getByRole("dialog", { name: "Rule thumbs" });
    await rule.getByRole("listitem").getByText("reactions: 👍 is 1, 👎 is 0").waitFor();
    await rule.getByText('"kind": "reaction"').waitFor();
    assert.deepEqual(await allFaults(page), []);
    await page.keyboard.press("Escape");

    await page.getByRole("button", { name: "Automatic training with thumbs" }).click();
    await page.getByLabel("Model to train").fill("p/nobody");
    await page.getByRole("button", { name: "Turn on" }).click();
    await page.getByRole("alert").getByText("There is no model p/nobody.").waitFor();
    await page.getByLabel("Model to train").fill("p/ruled");
    await page.getByRole("button", { name: "Turn on" }).click();
    await status.getByText("Rule thumbs trains automatically.").waitFor();
    assert.equal((await hone.rules.get(id)).standing?.model_id, modelId);
    await page.getByRole("button", { name: "Pause thumbs" }).click();
    await status.getByText("Rule thumbs paused.").waitFor();
    await page.getByRole("button", { name: "Stop the automatic training of thumbs" }).click();
    await answerQuestion(page, "Stop the automatic training of thumbs?", "Stop automatic training");
    await page.getByRole("button", { name: "Automatic training with thumbs" }).waitFor();
    const { standing, terms: kept } = await hone.rules.get(id);
    assert.deepEqual([standing, kept[0]?.rewards], [null, terms[0].rewards]);
    assert.deepEqual(await allFaults(page), []);

    await page.getByRole("link", { name: "Train with thumbs" }).click();
    await page.getByLabel("Model", { exact: true }).fill("p/ruled");
    await page.keyboard.press("Enter");
    await page.getByText("No prompt has answers with different rewards yet.").waitFor();
    assert.equal(await page.getByLabel("Reward").inputValue(), id, "the form uses the rule");
    await page.getByRole("link", { name: "On a file" }).click();
    await page.getByLabel("File, with a JSON object per line").waitFor();
    await close();
  },
);

test(
  "the tab of learning explains what learning does, and how much feedback is missing",
  inBrowser,
  async () => {
    const server = ofPage();
    const modelId = await registerModel(server, "curious");
    const at = `#/models/${modelId}/learning`;
    const { page, close } = await openPage(server, { at, colorScheme: "dark", width: 390 });
    await page.getByRole("heading", { name: "How a model learns from the people who use it" }).waitFor();
    const guide = page.getByRole("link", { name: "Guide: learning while a model is used" });
    const address = await guide.getAttribute("href");
    assert.equal((await fetch(`${server.url}/${address}`)).status, 200);
    await page.getByRole("button", { name: "Turn on" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Turn on" }).click();
    await answerQuestion(page, "Turn learning on with the default settings?", "Turn learning on");
    await page.getByText("of 16 needed").waitFor();
    assert.deepEqual(await allFaults(page), []);
    assert.equal(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0);
    await page.goto(`${server.url}/#/trajectories/${modelId}`);
    const models = page
      .locator("#sidebar")
      .getByRole("link", { name: "Models", exact: true, includeHidden: true });
    assert.equal(await models.getAttribute("aria-current"), "page");
    await close();
  },
);
