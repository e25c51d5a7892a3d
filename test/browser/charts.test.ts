// Tests the charts in a real browser: settings in the page's address, zoom, joined cursors, search, pins and saved
// files.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { Hone } from "../../src/apps/client/hone.ts";
import { serverOfFile } from "../running-server.ts";
import { registerModel, seenModel } from "../served-jobs.ts";
import { inBrowser, openPage, seriousFaults } from "./page-under-test.ts";

const ofPage = serverOfFile({ flags: seenModel });

/** Registers a model whose version 0 has a log with 16 metrics. */
async function loggedModel(name: string): Promise<string> {
  const server = ofPage();
  const modelId = await registerModel(server, name);
  const hone = new Hone({ baseUrl: server.url, apiKey: server.apiKey });
  const metrics = Object.fromEntries(Array.from({ length: 14 }, (_, index) => [`m${index}`, index / 10]));
  await hone.trajectories.log(modelId, {
    split: "val",
    trajectory_groups: [{ trajectories: [{ reward: 0.5, metrics, final_policy_version: 0 }] }],
  });
  return modelId;
}

test(
  "a reader finds, pins, smooths, zooms and saves curves, and the address keeps the settings",
  inBrowser,
  async () => {
    const server = ofPage();
    const modelId = await loggedModel("charted");
    const { page, close } = await openPage(server, { at: `#/models/${modelId}` });
    await page.getByRole("region", { name: "Most important curves" }).waitFor();
    const group = page.getByRole("button", { name: /^▸ val/ });
    await group.click();
    await page.getByText("val/m13 as numbers").waitFor();
    await page.getByRole("button", { name: "Pin val/m13" }).click();
    await page.getByRole("region", { name: "Pinned curves" }).getByText("val/m13 as numbers").waitFor();
    await page.getByRole("region", { name: "Most important curves" }).waitFor();
    await page.getByRole("button", { name: "Enlarge val/m13" }).click();
    await page.getByRole("button", { name: "Shrink val/m13" }).waitFor();
    await page.getByRole("searchbox", { name: "Find curves" }).fill("M1");
    await page.getByText("val/m2 as numbers").waitFor({ state: "detached" });
    await page.getByRole("slider", { name: "Smoothing" }).fill("0.6");
    await page.getByRole("checkbox", { name: "Logarithmic" }).check();
    const axis = page.getByRole("combobox", { name: "X axis" });
    assert.deepEqual(await axis.getByRole("option").allTextContents(), ["version", "time since the start"]);
    await axis.selectOption("time");
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "CSV of val/m13" }).click();
    assert.equal(
      await readFile(await (await saved).path(), "utf8"),
      "run,step,seconds,tokens,val/m13\n,0,0,,1.3\n",
    );
    const drawn = page.waitForEvent("download");
    await page.getByRole("button", { name: "PNG of val/m13" }).click();
    assert.equal((await drawn).suggestedFilename(), "val-m13.png");
    const query = new URLSearchParams(page.url().split("?")[1]);
    assert.deepEqual(Object.fromEntries(query), {
      open: "val",
      pin: "val/m13",
      find: "M1",
      smooth: "0.6",
      log: "1",
      x: "time",
      large: "val/m13",
    });
    await page.reload();
    await page.getByText("Smoothing 0.60").waitFor();
    assert.equal(await page.getByRole("checkbox", { name: "Logarithmic" }).isChecked(), true);
    await page.getByRole("region", { name: "Pinned curves" }).getByText("val/m13 as numbers").waitFor();
    assert.deepEqual(await seriousFaults(page), []);
    await close();
  },
);

test(
  "dragging across a curve zooms into all curves of the view, whose cursors are joined",
  inBrowser,
  async () => {
    const server = ofPage();
    const modelId = await loggedModel("zoomed");
    const { page, close } = await openPage(server, { at: `#/models/${modelId}` });
    await page.locator(".u-over").first().waitFor();
    const box = await page.locator(".u-over").first().boundingBox();
    assert.ok(box);
    const [left, y] = [box.x + box.width * 0.25, box.y + box.height / 2];
    await page.mouse.move(left, y);
    // The cursors of all curves stand at the nearest point, which is in the middle.
    const places: readonly number[] = await page.evaluate(
      `[...document.querySelectorAll(".u-cursor-x")].map((cursor) => cursor.getBoundingClientRect().right)`,
    );
    const middle = box.x + box.width / 2;
    assert.ok(Math.abs((places[0] ?? 0) - middle) <= 1, `${places[0]} instead of ${middle}`);
    const others = await page.locator(".u-over").nth(1).boundingBox();
    assert.ok(others && Math.abs((places[1] ?? 0) - others.x - others.width / 2) <= 1);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.75, y, { steps: 4 });
    await page.mouse.up();
    const all = page.getByRole("button", { name: /^Show all/ });
    await all.waitFor();
    const query = new URLSearchParams(page.url().split("?")[1]);
    // A single version 0 has the range from -0.5 to 0.5.
    const [from, to] = [Number(query.get("from")), Number(query.get("to"))];
    assert.ok(Math.abs(from + 0.25) < 0.05 && Math.abs(to - 0.25) < 0.05, `${from} to ${to}`);
    await all.click();
    await page.getByText("Drag across a chart to zoom in.").waitFor();
    assert.equal(page.url().includes("from="), false);
    await close();
  },
);
