// Tests in a real browser that what a user types stays and keeps the focus while other parts of the page load.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { Hone } from "../../src/apps/client/hone.ts";
import { serverOfFile } from "../running-server.ts";
import { registerModel, seenModel } from "../served-jobs.ts";
import { inBrowser, openPage } from "./page-under-test.ts";

const ofPage = serverOfFile({ flags: seenModel });

/**
 * Holds back the page's requests to a path, except the first `passing` ones.
 *
 * @returns function that sends the requests and waits for their responses
 */
async function hold(page: Page, path: RegExp, passing = 0): Promise<() => Promise<void>> {
  let release = (): void => {};
  const isReleased = new Promise<void>((resolve) => (release = resolve));
  let count = 0;
  await page.route(path, async (route) => {
    if (count++ >= passing) await isReleased;
    await route.continue();
  });
  return async () => {
    const answered = page.waitForResponse(path);
    release();
    await answered;
    // Effects of a render run after its frame, and the response may be processed after the next frame.
    await page.evaluate(`new Promise((resolve) => {
      const after = (frames) => (frames === 0 ? setTimeout(resolve) : requestAnimationFrame(() => after(frames - 1)));
      after(4);
    })`);
  };
}

test("the settings of a chat keep what a user types while the names of models load", inBrowser, async () => {
  const { page, close } = await openPage(ofPage(), { at: "#/models" });
  // The first response names the model of a new chat.
  const release = await hold(page, /\/v1\/models\?/, 1);
  await page.goto(`${ofPage().url}/#/chat`);
  await page.getByText("System prompt, sampling and tools").click();
  const [system, seed] = [page.getByLabel("System prompt"), page.getByLabel("Seed")];
  await seed.fill("7");
  await system.fill("You know places.");
  await release();
  assert.equal(await system.inputValue(), "You know places.");
  await seed.focus();
  assert.equal(new URLSearchParams(page.url().split("?")[1]).get("system"), "You know places.");
  assert.equal(await seed.inputValue(), "7");
  await close();
});

test("the project of a new model stays as typed while the known projects load", inBrowser, async () => {
  await registerModel(ofPage(), "known");
  const { page, close } = await openPage(ofPage(), { at: "#/bases" });
  const release = await hold(page, /\/v1\/preview\/models\?/);
  await page.goto(`${ofPage().url}/#/models`);
  await page.getByRole("button", { name: "New model" }).click();
  const project = page.getByLabel("Project");
  await project.fill("local/typed");
  await release();
  assert.equal(await project.inputValue(), "local/typed");
  assert.ok(await project.evaluate((field) => field === field.ownerDocument.activeElement));
  await close();
});

test("a title that arrives late leaves the focus in the field that a user fills in", inBrowser, async () => {
  const hone = new Hone({ baseUrl: ofPage().url, apiKey: ofPage().apiKey });
  const { entity, project } = await hone.models.get(await registerModel(ofPage(), "titled"));
  const project_id = `${entity}/${project}`;
  const questions = [{ name: "tone", text: "Kind?", schema: { type: "boolean" } }];
  const queue_id = await hone.queues.create({ project_id, name: "late", questions });
  const { page, close } = await openPage(ofPage(), { at: "#/models" });
  const release = await hold(page, new RegExp(`${queue_id}(\\?|$|/read)`));
  await page.goto(`${ofPage().url}/#/queues/${queue_id}/items?project=${encodeURIComponent(project_id)}`);
  await page.getByRole("heading", { name: "Items of the queue" }).waitFor();
  const field = page.getByLabel("Add the recorded answers of");
  await field.focus();
  await release();
  await page.getByRole("heading", { name: "Items of late" }).waitFor();
  await page.keyboard.type("titled");
  assert.equal(await field.inputValue(), "titled");
  await close();
});

test("a filter that a user submits keeps the focus and what the user types next", inBrowser, async () => {
  await registerModel(ofPage(), "filtered");
  const { page, close } = await openPage(ofPage(), { at: "#/conversations" });
  const words = page.getByLabel("Words");
  await words.fill("spell");
  await page.keyboard.press("Enter");
  await page.waitForURL(/text=spell/);
  await page.getByRole("button", { name: "Clear" }).waitFor();
  await page.keyboard.type("gm");
  assert.equal(await words.inputValue(), "spellgm");
  await page.getByRole("button", { name: "Clear" }).click();
  await page.waitForURL(/conversations$/);
  await page.getByRole("button", { name: "Clear" }).waitFor({ state: "detached" });
  assert.equal(await words.inputValue(), "");
  await close();
});

test("a question, a note and a form that were not sent stay", inBrowser, async () => {
  const id = await registerModel(ofPage(), "drafted");
  const hone = new Hone({ baseUrl: ofPage().url, apiKey: ofPage().apiKey });
  const trajectory = {
    messages_and_choices: [
      { role: "user", content: "Hi" },
      { role: "assistant", content: "Yes" },
    ],
    reward: 1,
  };
  await hone.trajectories.log(id, { split: "val", trajectory_groups: [{ trajectories: [trajectory] }] });
  const { page, close } = await openPage(ofPage(), { at: "#/chat" });
  const question = page.getByLabel("Question", { exact: true });
  await question.fill("Where is");
  await page.getByRole("link", { name: "Models", exact: true }).click();
  await page.getByRole("link", { name: "Chat", exact: true }).click();
  assert.equal(await question.inputValue(), "Where is");
  await page.goto(`${ofPage().url}/#/trajectories/${id}/1`);
  const note = page.getByLabel("Note");
  await note.fill("Too short");
  await page.reload();
  assert.equal(await note.inputValue(), "Too short");
  await page.getByRole("button", { name: "Save note" }).click();
  await page.getByText("1 record").waitFor();
  assert.equal(await note.inputValue(), "");

  await page.goto(`${ofPage().url}/#/queues`);
  await page.getByRole("button", { name: "New queue" }).click();
  const name = page.getByRole("dialog").getByLabel("Name", { exact: true });
  await name.fill("tone");
  await page.keyboard.press("Escape");
  await page.getByText("Discard what you typed?").waitFor();
  await page.keyboard.press("Escape");
  assert.equal(await name.inputValue(), "tone");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Discard" }).click();
  await name.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "New queue" }).and(page.locator(":focus")).waitFor();
  await close();
});

test("a key that the server refuses leads to the sign-in, which says so", inBrowser, async () => {
  const { page, close } = await openPage(ofPage(), { at: "#/chat" });
  await page.evaluate("sessionStorage.setItem('hone-key', 'hone_revoked')");
  await page.reload();
  await page.getByText("The server no longer accepts your key").waitFor();
  await page.getByLabel("Key of this server").and(page.locator(":focus")).waitFor();
  await close();
});
