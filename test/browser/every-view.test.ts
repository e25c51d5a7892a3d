// Opens every view of the dashboard in a real browser, on a server whose names and texts are Arabic and Hebrew: in both
// themes, on wide and narrow screens, and while the server is away.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { Hone } from "../../src/apps/client/hone.ts";
import { searchedOf } from "../../src/base/domain/testing/search.ts";
import {
  newDataFolder,
  removeDataFolder,
  type RunningServer,
  serverOfFile,
  startServer,
} from "../running-server.ts";
import { finish, seenModel, submitJob } from "../served-jobs.ts";
import { allFaults, inBrowser, layoutShift, openPage } from "./page-under-test.ts";

const ofPage = serverOfFile({ flags: seenModel });

/** Fills the server, and returns the address of every view. */
async function viewsOf(server: RunningServer): Promise<readonly string[]> {
  const hone = new Hone({ baseUrl: server.url, apiKey: server.apiKey });
  const { id: modelId, entity } = await hone.models.create({
    project: "دعم",
    name: "סוכן-תמיכה",
    base_model: "tiny",
  });
  const project_id = `${entity}/دعم`;
  const project = encodeURIComponent(project_id);
  const jobId = await submitJob(server, modelId, 2);
  await finish(server, jobId);
  const question = { role: "user", content: "أين طلبي رقم 1182؟" };
  const { request_id: requestId, choices } = await hone.chat.create({
    model: modelId,
    max_tokens: 4,
    messages: [question],
  });
  for (const final_policy_version of [0, 1])
    await hone.trajectories.log(modelId, {
      split: "val",
      trajectory_groups: [
        {
          trajectories: [
            { messages_and_choices: [question, choices[0] ?? {}], reward: 1, final_policy_version },
          ],
        },
      ],
    });
  const call = `hone:///${project_id}/call/${requestId}`;
  const about = { project_id, vendor_ref: call, creator: "מרים" };
  await hone.feedback.createBatch([
    { ...about, feedback_type: "vendor.note.1", payload: { note: "جيد جدا" } },
    { ...about, feedback_type: "score", payload: { value: 0.5 } },
  ]);
  const questions = [{ name: "tone", text: "كيف تبدو الإجابة؟", schema: { enum: ["لطيفة", "חצופה"] } }];
  const queueId = await hone.queues.create({ project_id, name: "جودة الإجابات", questions });
  await hone.queues.add({ project_id, queue_id: queueId }, { call_ids: [call] });
  const traced = { id: "root", project_id, op_name: "مهمة", trace_id: "t", parent_id: null };
  const times = { started_at: "2026-11-21T12:00:00Z", ended_at: "2026-11-21T12:00:01Z" };
  await hone.call("POST /v2/{entity}/{project}/calls/complete", {
    path: { entity, project: "دعم" },
    body: { batch: [{ ...traced, ...times, attributes: {}, inputs: question, output: "نعم", summary: {} }] },
  });
  return [
    "",
    "models",
    `models/${modelId}`,
    `models/${modelId}/jobs`,
    `models/${modelId}/learning`,
    `evaluation/${modelId}?split=val`,
    "jobs",
    `jobs/${jobId}`,
    `jobs/${jobId}/groups`,
    `runs?ids=${modelId}`,
    `runs?of=jobs&ids=${jobId}&group=batch_size`,
    "train",
    `train?job=${jobId}`,
    `train?feedback=${modelId}`,
    "trajectories",
    `trajectories/${modelId}`,
    `trajectories/${modelId}?split=none`,
    `trajectories/${modelId}/9`,
    `traces?project=${project}`,
    `traces/t?project=${project}`,
    `conversations?model=${modelId}`,
    `conversations/${requestId}?project=${project}`,
    `feedback?project=${project}`,
    `queues?project=${project}`,
    `queues/${queueId}?project=${project}`,
    `queues/${queueId}/items?project=${project}`,
    "chat",
    "bases",
    "rules",
    "usage",
    "webhooks",
    "retention",
    "logs",
    "nowhere",
  ];
}

/** The two looks of the page, in which each view is opened in `npm run proof`; `npm test` opens it in one of them. */
const looks = [
  { colorScheme: "light", width: 1280 },
  { colorScheme: "dark", width: 360 },
] as const;

/** Opens a view of a page that is signed in, and waits until its content has loaded. */
async function open(page: Page, view: string): Promise<void> {
  await page.goto(`${page.url().split("#")[0] ?? ""}#/${view}`);
  await page.locator("main h1").waitFor();
  for (const loading of await page.getByText("Loading …").all()) await loading.waitFor({ state: "detached" });
}

test(
  "no view has an accessibility fault or is wider than the screen, in both themes, with texts from right to left",
  { ...inBrowser, timeout: 300_000 },
  async () => {
    const server = ofPage();
    const views = await viewsOf(server);
    for (const look of looks) {
      const { colorScheme, width } = look;
      const { page, close } = await openPage(server, look);
      const refused: string[] = [];
      page.on("response", (answer) => {
        if (answer.status() >= 400) refused.push(`${answer.status()} ${answer.url()}`);
      });
      for (const view of views) {
        if (!searchedOf(looks, 1, view.replaceAll(/[0-9a-f-]{36}/g, "id")).includes(look)) continue;
        const shiftBefore = await layoutShift(page);
        await open(page, view);
        assert.equal(await page.getByRole("alert").count(), 0, `${view} shows an error`);
        assert.deepEqual(await allFaults(page), [], `${colorScheme}, ${width}, ${view}`);
        const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
        assert.equal(overflow, 0, `${view} fits a width of ${width}`);
        assert.deepEqual(refused, [], `${view} sends only requests that the server accepts`);
        // The limit for a "good" value in web.dev's Core Web Vitals.
        const shift = (await layoutShift(page)) - shiftBefore;
        assert.ok(shift < 0.1, `${view} at ${width}: what is shown has moved by ${shift}`);
      }
      await open(page, "conversations");
      const direction = await page.evaluate(
        `getComputedStyle([...document.querySelectorAll("td")].find((cell) => cell.textContent.includes("1182"))).direction`,
      );
      assert.equal(direction, "rtl");
      await close();
    }
  },
);

test(
  "while the server is away, a view says so without any good state, and recovers by itself",
  inBrowser,
  async (t) => {
    const dataFolder = newDataFolder();
    let server = await startServer({ dataFolder, flags: seenModel });
    t.after(async () => {
      await server.kill();
      removeDataFolder(dataFolder);
    });
    const { page } = await openPage(server);
    const { port } = new URL(server.url);
    // Each with another view, which is opened for the first time while the server is away.
    const pairs = [
      ["", "retention", "Retention"],
      ["models", "rules", "Reward rules"],
      ["logs", "usage", "Keys and usage"],
    ] as const;
    for (const [view, unopened, title] of searchedOf(pairs, 1)) {
      await open(page, view);
      await server.kill();
      await page.getByText("does not answer. The page shows its last state").waitFor();
      assert.equal(await page.locator(".state-ok, .state-ready, .state-loaded").count(), 0, view);
      assert.deepEqual(await allFaults(page), [], view);
      await page.goto(`${server.url}/#/${unopened}`);
      await page.getByText("It opens by itself once the server answers.").waitFor();
      server = await startServer({ dataFolder, flags: [...seenModel, "--port", port] });
      await page.getByText("The page shows its last state").waitFor({ state: "detached" });
      await page.getByRole("alert").waitFor({ state: "detached" });
      await page.getByRole("heading", { name: title, level: 1 }).waitFor();
    }
    // The browser logs lost connections as errors, which `close` would report.
    await page.context().close();
  },
);
