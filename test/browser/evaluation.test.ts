// Tests in a real browser how a reader finds out whether a version is better than an earlier one. The steps are the
// table of an evaluation, the answers behind a cell with their differing words, and pinning the better version.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Hone } from "../../src/apps/client/hone.ts";
import { serverOfFile } from "../running-server.ts";
import { finish, registerModel, seenModel, submitJob } from "../served-jobs.ts";
import { inBrowser, openPage, seriousFaults } from "./page-under-test.ts";

const ofPage = serverOfFile({ flags: seenModel });

test("a reader compares two versions prompt by prompt, and pins the better one", inBrowser, async () => {
  const server = ofPage();
  const hone = new Hone({ baseUrl: server.url, apiKey: server.apiKey });
  const modelId = await registerModel(server, "evaluated");
  await finish(server, await submitJob(server, modelId, 1));
  const logged = (version: number, answers: readonly (readonly [string, string, number])[]) =>
    hone.trajectories.log(modelId, {
      split: "val",
      trajectory_groups: answers.map(([prompt, answer, reward]) => ({
        trajectories: [
          {
            messages_and_choices: [
              { role: "user", content: prompt },
              { finish_reason: "stop", message: { role: "assistant", content: answer } },
            ],
            reward,
            metrics: { right: reward === 1 },
            final_policy_version: version,
          },
        ],
      })),
    });
  await logged(0, [
    ["Where is Oslo?", "Oslo is in the south.", 0],
    ["Where is Rome?", "Rome is in Italy.", 1],
    ["Who are you?", "Nobody.", 0.5],
  ]);
  await logged(1, [
    ["Where is Oslo?", "Oslo is in the far north.", 1],
    ["Where is Rome?", "Rome is in Spain.", 0.25],
    ["Who are you?", "Nobody.", 0.5],
  ]);

  const { page, close } = await openPage(server, { at: `#/models/${modelId}` });
  await page.getByRole("link", { name: "Evaluation" }).click();
  await page.getByText("version 1 is better on 1 prompt, worse on 1, and equal on 1.").waitFor();
  await page.getByText("fewer than 4 answers per version").waitFor();
  await page.getByRole("heading", { name: "p/evaluated", level: 1 }).waitFor();
  await page.getByRole("link", { name: "Chat", exact: true }).first().waitFor();
  const rows = page.getByRole("region", { name: "Rewards by prompt and version" }).getByRole("row");
  const textsOf = async () =>
    Promise.all((await rows.all()).slice(1).map((row) => row.locator("th, td").allTextContents()));
  assert.deepEqual(await textsOf(), [
    ["mean of 3 prompts", "0.5", "0.583", "+0.083"],
    ["Where is Oslo?", "0 n = 1", "1 n = 1", "+1"],
    ["Where is Rome?", "1 n = 1", "0.25 n = 1", "−0.75"],
    ["Who are you?", "0.5 n = 1", "0.5 n = 1", "0"],
  ]);
  await page.getByRole("combobox", { name: "Measure" }).selectOption("right");
  await page.getByText("right of version 1 is higher on 1 prompt, lower on 1, and equal on 1.").waitFor();
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "CSV" }).click();
  assert.equal((await saved).suggestedFilename(), "evaluation-val-right.csv");
  await page.getByRole("combobox", { name: "Measure" }).selectOption("reward");
  await page.getByRole("combobox", { name: "Order" }).selectOption("loss");
  assert.equal((await textsOf())[1]?.[0], "Where is Rome?");
  await rows.filter({ hasText: "Oslo" }).getByRole("button", { name: "1, answers of version 1" }).click();
  await page.locator("ins", { hasText: "north" }).waitFor();
  await page.locator("del", { hasText: "south" }).waitFor();
  assert.deepEqual(await seriousFaults(page), []);
  await page.reload();
  await page.locator("ins", { hasText: "north" }).waitFor();
  await page.getByRole("button", { name: "Pin version 1" }).click();
  await page.getByRole("button", { name: "Unpin version 1" }).waitFor();
  assert.equal((await hone.checkpoints.get(modelId, 1)).pinned, true);
  await page
    .getByRole("region", { name: "Answer of version 1" })
    .getByRole("link", { name: /^Trajectory \d+, reward 1$/ })
    .click();
  await page.getByRole("heading", { name: "Reward 1" }).waitFor();
  await close();
  const at = `#/evaluation/${modelId}?prompt=Where+is+Oslo%3F&version=1`;
  const dark = await openPage(server, { colorScheme: "dark", width: 390, at });
  await dark.page.locator("ins", { hasText: "north" }).waitFor();
  assert.deepEqual(await seriousFaults(dark.page), []);
  assert.equal(await dark.page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0);
  await dark.close();
});
