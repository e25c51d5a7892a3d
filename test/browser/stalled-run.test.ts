// Tests in a real browser how a reader finds out why a run stopped learning. The steps are overlaid curves, a round's
// groups, what the round skipped, and a trajectory with its token probabilities.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Hone } from "../../src/apps/client/hone.ts";
import { serverOfFile } from "../running-server.ts";
import { finish, registerModel, seenModel } from "../served-jobs.ts";
import { inBrowser, openPage, seriousFaults } from "./page-under-test.ts";

const ofPage = serverOfFile({ flags: seenModel });

test(
  "a reader overlays three runs, and finds that the round of one of them had groups with equal rewards",
  inBrowser,
  async () => {
    const server = ofPage();
    const hone = new Hone({ baseUrl: server.url, apiKey: server.apiKey });
    const names = ["steady", "fast", "stalled"];
    const ids = await Promise.all(names.map((name) => registerModel(server, name)));
    const trained = await Promise.all(
      ids.map(async (id, index) => {
        const question = { role: "user", content: "Which word?" };
        const { choices } = await hone.chat.create({
          model: id,
          messages: [question],
          n: 4,
          max_tokens: 6,
          temperature: 1,
          seed: 1,
        });
        const group = (rewards: readonly number[]) => ({
          trajectories: choices.map((choice, place) => ({
            messages_and_choices: [question, choice],
            reward: rewards[place],
          })),
        });
        const equal = Array.from({ length: index === 2 ? 2 : 0 }, () => group([1, 1, 1, 1]));
        const job = await hone.jobs.create({
          model_id: id,
          // Safe cast: recorded choices have the fields that the route expects.
          trajectory_groups: [group([0, 1, 2, 3]), ...equal] as never,
          experimental_config: { learning_rate: [1e-4, 1e-3, 1e-4][index] },
        });
        return job.id;
      }),
    );
    for (const id of trained) await finish(server, id);

    const { page, close } = await openPage(server, { at: `#/models/${ids[0]}` });
    await page.locator("summary", { hasText: "Compare" }).click();
    await page.getByRole("link", { name: "Curves with other models" }).click();
    for (const name of ["fast", "stalled"]) {
      await page.getByRole("combobox", { name: "Add a model" }).fill(`p/${name}`);
      await page.keyboard.press("Tab");
      await page.getByRole("list", { name: "Runs" }).getByRole("link", { name }).waitFor();
    }
    const settings = page.getByRole("region", { name: "Settings that differ" });
    await settings.getByRole("row", { name: /^learning_rate 0.0001 0.001 0.0001$/ }).waitFor();
    await settings.getByRole("row", { name: /^groups 1 of 1 1 of 1 1 of 3$/ }).waitFor();
    assert.deepEqual(await seriousFaults(page), []);
    assert.match(page.url(), new RegExp(`ids=${ids.join("%2C")}`));

    const plot = page.locator("figure").filter({ hasText: "data/reward as numbers" }).locator(".u-over");
    const box = await plot.boundingBox();
    assert.ok(box);
    // The stalled run has the lowest point, and is listed last.
    await plot.click({ position: { x: box.width / 2, y: box.height * 0.9 } });
    await page.getByRole("heading", { name: "stalled, version 1: the 3 groups of its training" }).waitFor();
    await page.getByText("answers of earlier versions, normally of version 0").waitFor();
    // The path leads back to the same curves.
    await page.getByRole("navigation", { name: "Breadcrumb" }).getByRole("link", { name: "Runs" }).click();

    const group = page.getByRole("combobox", { name: "Group by" });
    await group.selectOption("learning_rate");
    await page
      .getByRole("list", { name: "learning_rate 0.0001" })
      .getByRole("link", { name: "stalled" })
      .waitFor();
    assert.match(page.url(), /group=learning_rate/);
    const table = page.locator("figure").filter({ hasText: "data/reward as numbers" });
    await table.getByText("data/reward as numbers").click();
    await table.getByRole("cell", { name: "1.333 (1.167 to 1.5)" }).waitFor();
    assert.deepEqual(await seriousFaults(page), []);
    await group.selectOption("");
    await page.getByRole("link", { name: "1.167, details of stalled at version 1" }).click();
    await page.getByText("Most groups have equal rewards.").waitFor();
    await page.getByText("8 trajectories in 2 groups: all rewards of the group are equal").waitFor();
    assert.deepEqual(await seriousFaults(page), []);
    const groups = page.getByRole("region", { name: "Groups" }).getByRole("row");
    assert.deepEqual(await groups.nth(2).getByRole("cell").allTextContents(), [
      "2",
      "Which word?",
      "1",
      "none",
      "1111",
    ]);
    await groups.nth(1).getByRole("link", { name: "Trajectory 4, reward 3" }).click();
    await page.getByRole("heading", { name: "Reward 3" }).waitFor();
    await page.getByRole("listbox", { name: "Tokens of turn 2" }).focus();
    await page
      .getByText(/^−\d+\.\d+ \(/)
      .first()
      .waitFor();
    await page.getByRole("link", { name: "training job" }).click();
    await page.getByText("Raise learning rate, or take more steps").waitFor();
    await close();
  },
);
