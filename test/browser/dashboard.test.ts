// Tests the page at `/` in a real browser: signing in, reading models and versions, and watching a job until it ends.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  call,
  eventually,
  newDataFolder,
  removeDataFolder,
  serverOfFile,
  startServer,
} from "../running-server.ts";
import { Hone } from "../../src/apps/client/hone.ts";
import { finish, model, registerModel, seenModel, submitJob } from "../served-jobs.ts";
import { inBrowser, openPage, setHidden, signIn } from "./page-under-test.ts";

const ofPage = serverOfFile({ flags: seenModel });

test(
  "a user signs in, watches a job until it ends, and reads the versions of its model",
  inBrowser,
  async () => {
    const server = ofPage();
    const { page, close } = await openPage(server, { signsIn: false });

    await page.getByLabel("Key of this server").fill("not-a-key");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("This server does not accept the key").waitFor();
    await signIn(page, server.apiKey);
    await page.getByRole("heading", { name: "tiny" }).waitFor();
    await page.getByText("Model memory").waitFor();

    const modelId = await registerModel(server, "watched");
    const jobId = await submitJob(server, modelId, 3);
    await page.getByRole("link", { name: "Jobs", exact: true }).click();
    await page.getByRole("link", { name: jobId.slice(-8) }).click();
    await page.getByText("succeeded").waitFor({ timeout: 90_000 });
    await page.getByRole("heading", { name: "Curves over steps" }).waitFor();
    assert.ok((await page.locator(".plot canvas").count()) > 0, "curves are drawn");
    await page.locator(".u-over").first().click();
    await page.getByRole("heading", { name: /groups of its training$/ }).waitFor();
    await page.goBack();
    await page.getByRole("heading", { name: "Curves over steps" }).waitFor();

    await page.getByText("The loss that a step minimizes.").waitFor();
    const next = page.getByRole("group", { name: "Next steps" });
    await next.getByRole("link", { name: "Evaluate" }).waitFor();
    await next.getByRole("button", { name: "Pin version 1" }).click();
    await page.getByRole("status").getByText("Version 1 pinned.").waitFor();
    await next.getByRole("link", { name: "Chat with version 1" }).click();
    await page.getByRole("heading", { name: "Chat", level: 1 }).waitFor();
    assert.match(decodeURIComponent(page.url()), /p\/watched:step1&m=.*:step0/);
    await page.goBack();

    await page.locator("main").getByRole("link", { name: "p/watched" }).click();
    await page.getByRole("heading", { name: "p/watched", level: 1 }).waitFor();
    await page.getByRole("heading", { name: "Curves over versions" }).waitFor();
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download the adapter of version 1" }).click();
    assert.equal((await download).suggestedFilename(), "watched-step1.tar");
    await close();
  },
);

test("a preference job shows its number of trained pairs and their growing margin", inBrowser, async () => {
  const server = ofPage();
  const modelId = await registerModel(server, "preferring");
  const pairs = ["a", "b", "c"].map((prompt) => ({ prompt, chosen: "yes", rejected: "no" }));
  const alike = { prompt: "d", chosen: "yes", rejected: "yes" };
  const body = { model_id: modelId, pairs: [...pairs, alike], config: { batch_size: 2 } };
  const { body: job } = await call(server, "POST", "/v1/preview/preference-training-jobs", { body });
  const { page, close } = await openPage(server, { at: `#/jobs/${job.id}` });
  await page.getByText("succeeded").waitFor({ timeout: 90_000 });
  await page.getByText("1 pair: both answers have the same tokens").waitFor();
  assert.equal(await page.getByText("groups", { exact: true }).count(), 0);
  for (const curve of ["rewards/margins", "rewards/accuracies", "loss"])
    await page.getByText(`${curve} as numbers`).waitFor();
  await page.getByRole("navigation", { name: "Breadcrumb" }).getByRole("link", { name: "Jobs" }).click();
  await page.getByRole("cell", { name: "4 pairs" }).waitFor();
  await close();
});

test(
  "lists and filters jobs with their models and rewards, and versions with a column per metric",
  inBrowser,
  async () => {
    const server = ofPage();
    const hone = new Hone({ baseUrl: server.url, apiKey: server.apiKey });
    const [modelId, otherId] = [
      await registerModel(server, "measured"),
      await registerModel(server, "taught"),
    ];
    const logged = (step: number, reward: number, split: string) =>
      hone.trajectories.log(modelId, {
        split,
        trajectory_groups: [{ trajectories: [{ reward, final_policy_version: step }] }],
      });
    await logged(0, 0.25, "val");
    const jobId = await submitJob(server, modelId, 2);
    await finish(server, jobId);
    await logged(1, 0.75, "val");
    await finish(server, await submitJob(server, modelId, 2));
    const pairs = [{ prompt: "a", chosen: "yes", rejected: "no" }];
    const preferring = await hone.jobs.createPreference({ model_id: otherId, pairs });
    await finish(server, preferring.id);
    const name = await hone.models.get(modelId).then(({ entity }) => `${entity}/p/measured`);

    const { page, close } = await openPage(server, { at: "#/jobs" });
    const jobs = page.getByRole("region", { name: "Jobs" }).getByRole("row");
    await jobs.filter({ hasText: "p/taught" }).getByText("preference", { exact: true }).waitFor();
    await page.getByRole("textbox", { name: "Model" }).fill("p/measured");
    await page.getByRole("button", { name: "Filter" }).click();
    await jobs.filter({ hasText: "p/taught" }).waitFor({ state: "detached" });
    assert.match(page.url(), /model=p%2Fmeasured/);
    const heads = (await page.getByRole("columnheader").allTextContents()).slice(1);
    const wanted = ["model", "job", "kind", "state", "val/reward", "data/reward", "data", "duration"];
    assert.deepEqual(heads.slice(0, 8), wanted);
    const rows = await Promise.all(
      [2, 1].map(
        async (place) =>
          await jobs
            .nth(3 - place)
            .getByRole("cell")
            .allTextContents()
            .then((cells) => cells.slice(1)),
      ),
    );
    assert.deepEqual(
      rows.map((cells) => [cells[0], cells[2], cells[3], ...cells.slice(4, 6)]),
      [
        [name, "reinforcement", "succeeded, with warnings", "0.75 → –", "1.5 → –"],
        [name, "reinforcement", "succeeded, with warnings", "0.25 → 0.75+0.5", "1.5 → 1.50"],
      ],
    );
    const { warnings } = await hone.jobs.get(jobId);
    assert.equal(await jobs.nth(2).getByText("with warnings").getAttribute("title"), warnings[0]);
    for (const cells of rows) assert.match(cells[7] ?? "", /^\d+ s$/);
    await page.getByRole("combobox", { name: "State" }).selectOption("failed");
    await page.getByText("No training jobs match these filters.").waitFor();
    await page.getByRole("button", { name: "Clear" }).click();
    // Until the list is back, the fields are those of the old filters.
    await jobs.filter({ hasText: "p/measured" }).first().waitFor();
    await page.getByRole("combobox", { name: "Kind" }).selectOption("preference");
    await jobs.filter({ hasText: "p/measured" }).first().waitFor({ state: "detached" });
    await jobs.filter({ hasText: "p/taught" }).waitFor();
    await page.getByRole("textbox", { name: "Model" }).fill("p/nobody");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByText("No training jobs match these filters.").waitFor();

    await page.goto(`${server.url}/#/models`);
    const model = page.getByRole("region", { name: "Models" }).getByRole("row", { name: /measured/ });
    await model.getByRole("link", { name: "measured" }).waitFor();
    const titles = await page.getByRole("columnheader").allTextContents();
    const values = await model.getByRole("cell").allInnerTexts();
    assert.deepEqual(
      ["val/reward", "data/reward"].map((title) => values[titles.indexOf(title)]?.trim()),
      ["0.75", "1.5"],
    );

    await page.goto(`${server.url}/#/models/${modelId}`);
    await page.getByRole("heading", { name: "Versions", exact: true }).waitFor();
    const versions = page.getByRole("region", { name: "Versions", exact: true }).last();
    assert.deepEqual((await versions.getByRole("columnheader").allTextContents()).slice(0, 4), [
      "version",
      "val/reward",
      "data/reward",
      "created",
    ]);
    const [newest, better, oldest] = (await versions.getByRole("row").allInnerTexts())
      .slice(1)
      .map((row) => row.split("\t"));
    assert.deepEqual(
      [newest?.slice(0, 3), better?.slice(0, 2), oldest?.slice(0, 3)],
      [
        ["2", "–", "1.5"],
        ["1 best", "0.75"],
        ["0", "0.25", "–"],
      ],
    );
    await versions.getByRole("button", { name: "Pin version 1" }).click();
    await versions.getByRole("button", { name: "Unpin version 1" }).waitFor();

    await page.goto(`${server.url}/#/jobs/${jobId}`);
    const box = page.getByRole("region", { name: "Warnings of the job" });
    await box.getByText(warnings[0] ?? "").waitFor();
    await page.goto(`${server.url}/#/train?job=${jobId}&learning_rate=2e-5`);
    assert.equal(await page.getByLabel("Learning rate").inputValue(), "2e-5");
    await close();
  },
);

test(
  "every element can be reached with the keyboard, and going back returns to the same place",
  inBrowser,
  async () => {
    const server = ofPage();
    for (const name of ["one", "two"]) await registerModel(server, name);
    const { page, close } = await openPage(server);
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("g");
    await page.keyboard.press("m");
    await page.getByRole("heading", { name: "Models", level: 1 }).waitFor();
    await page.getByRole("link", { name: "two" }).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    const name = await page.evaluate("document.activeElement.textContent");
    assert.equal(name, await page.locator("[data-row]").nth(1).textContent());
    await page.keyboard.press("Enter");
    const end = String(name).slice(String(name).indexOf("/") + 1);
    await page.getByRole("heading", { name: end, level: 1 }).waitFor();
    await page.goBack();
    await page.getByRole("heading", { name: "Models", level: 1 }).waitFor();
    await page.reload();
    await page.getByRole("link", { name: "two" }).waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Key of this server").waitFor();
    assert.equal(page.url(), `${server.url}/`, "the next user does not get the address of the last view");
    await page.goBack();
    await page.getByLabel("Key of this server").waitFor();
    await page.waitForURL(`${server.url}/`);
    await close();
  },
);

test("a hidden tab sends no requests, and resumes when it is shown", inBrowser, async () => {
  const server = ofPage();
  const { page, close } = await openPage(server, { isReused: false });
  await page.clock.install();
  await page.reload();
  await page.getByText("Model memory").waitFor();
  await setHidden(page, true);
  await page.waitForLoadState("networkidle");
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.clock.runFor(60_000);
  assert.deepEqual(asked, []);
  const summary = page.waitForRequest(`${server.url}/v1/preview/summary`);
  await setHidden(page, false);
  await summary;
  await page.clock.runFor(60_000);
  assert.ok(asked.length <= 2, `a visible overview polls: ${asked.join(" ")}`);
  await close();
});

test("the color scheme can be switched, is stored, and also applies to curves", inBrowser, async () => {
  const server = ofPage();
  const jobId = await submitJob(server, await registerModel(server, "coloured"), 2);
  const { page, close } = await openPage(server, { at: `#/jobs/${jobId}`, colorScheme: "dark" });
  const ground = (): Promise<string> => page.evaluate("getComputedStyle(document.body).backgroundColor");
  const drawn = (): Promise<string> => page.evaluate("document.querySelector('.plot canvas').toDataURL()");
  // Waits until the job has ended, so that the curves no longer change.
  await page.getByText("succeeded").waitFor({ timeout: 90_000 });
  await page.locator(".plot canvas").first().waitFor();
  const [dark, darkCurve] = [await ground(), await drawn()];
  await page.getByRole("button", { name: "Light" }).click();
  const light = await ground();
  assert.notEqual(light, dark);
  await eventually("the curve in light", async () => (await drawn()) !== darkCurve || null);
  await page.reload();
  await page.getByRole("button", { name: "Dark" }).waitFor();
  assert.equal(await ground(), light);
  await close();
});

test("a server that allows no receivers says so instead of offering a webhook", inBrowser, async () => {
  const { page, close } = await openPage(ofPage(), { at: "#/webhooks" });
  await page.getByRole("heading", { name: "This server sends no webhooks" }).waitFor();
  await page.getByText("npx hone serve --webhooks-allowed hooks.example.com").waitFor();
  assert.equal(await page.getByRole("button", { name: "New webhook" }).count(), 0);
  await close();
});

test("without authentication, the page opens without asking for a key", inBrowser, async (context) => {
  const dataFolder = newDataFolder();
  const server = await startServer({ dataFolder, flags: [...model, "--auth", "off"] });
  context.after(async () => {
    await server.kill();
    removeDataFolder(dataFolder);
  });
  const { page, close } = await openPage(server, { signsIn: false });
  await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Sign out" }).count(), 0);
  await close();
});
