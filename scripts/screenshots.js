// `npm run screenshots`: takes the pictures in docs/guides/dashboard.md from a temporary server on which the demo has
// run. Needs Chromium: Debian's package, or the program that CHROMIUM names.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { chromiumCure, findChromium } from "./chromium.js";
import { root, setUp } from "./setup.js";

const executablePath = findChromium();
if (executablePath === undefined) throw new Error(chromiumCure);
setUp();
const folder = join(root, "docs", "images");
mkdirSync(folder, { recursive: true });
const data = mkdtempSync(join(tmpdir(), "hone-screenshots-"));
const hone = join(root, "bin", "hone.js");
const flags = ["--port", "0", "--auth", "on", "--log-level", "warn", "--data", data];
const server = spawn(process.execPath, [hone, "serve", ...flags], { stdio: ["ignore", "pipe", "inherit"] });
try {
  const url = await listening(server);
  // The demo ends early if the model learns in fewer jobs. More jobs give curves with more points.
  const demo = ["demo", "--url", url, "--data", data, "--seed", "1", "--jobs", "8"];
  const { status } = spawnSync(process.execPath, [hone, ...demo], { stdio: "inherit" });
  if (status !== 0) throw new Error("the demo failed");
  const key = readFileSync(join(data, "admin-key"), "utf8").trim();
  await logConversation(url, key);
  await takePictures(url, key);
} finally {
  server.kill();
  await once(server, "close");
  rmSync(data, { recursive: true, force: true });
}

/** Returns the URL that the server prints when it has started. */
async function listening({ stdout }) {
  let output = "";
  for await (const part of stdout) {
    output += part;
    const [, url] = /listening on (http:\S+)/.exec(output) ?? [];
    if (url !== undefined) return url;
  }
  throw new Error(`the server did not start:\n${output}`);
}

/** Logs a conversation of two turns with the demo's model. It is a better example than the demo's one-word answers. */
async function logConversation(url, key) {
  const ask = async (path, body) => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const answer = await fetch(`${url}/v1/${path}`, { headers, ...sent });
    if (!answer.ok) throw new Error(await answer.text());
    return answer.json();
  };
  const [model] = (await ask("preview/models")).data;
  const turns = [];
  for (const content of ["What is the capital of France?", "Tell me a story."]) {
    turns.push({ role: "user", content });
    const messages = turns.map((turn) => turn.message ?? turn);
    const { choices } = await ask("chat/completions", {
      model: model.id,
      messages,
      temperature: 1.1,
      max_tokens: 60,
      seed: 1,
      logprobs: true,
      top_logprobs: 3,
    });
    turns.push(choices[0]);
  }
  const trajectory = { messages_and_choices: turns, reward: 0.75, metrics: { turns: 2, right: true } };
  await ask(`preview/models/${model.id}/log`, {
    split: "val",
    trajectory_groups: [{ trajectories: [trajectory] }],
  });
}

async function takePictures(url, key) {
  const headers = { authorization: `Bearer ${key}` };
  const { data: jobs } = await (await fetch(`${url}/v1/preview/training-jobs?limit=3`, { headers })).json();
  const newestJobs = jobs.map(({ id }) => id);
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  try {
    for (const colorScheme of ["light", "dark"]) {
      const page = await browser.newPage({
        colorScheme,
        locale: "en",
        viewport: { width: 1000, height: 720 },
      });
      await page.goto(url);
      await page.getByLabel("Key of this server").fill(key);
      await page.getByRole("button", { name: "Sign in" }).click();
      const take = async (name) => {
        for (const loading of await page.getByText("Loading …").all())
          await loading.waitFor({ state: "detached" });
        // Waits, because a curve is drawn only in the frame after its numbers have arrived.
        await page.waitForTimeout(500);
        if ((colorScheme === "dark") === (name === "job"))
          await page.screenshot({ path: join(folder, `dashboard-${name}.png`) });
      };
      await page.getByRole("heading", { name: "Overview" }).waitFor();
      await take("overview");
      await page.goto(`${url}/#/models`);
      await page.locator("[data-row]").first().click();
      await page.locator(".plot canvas").first().waitFor();
      await take("model");
      await page.goto(`${url}/#/jobs`);
      await page.locator("[data-row]").first().click();
      await page.locator(".plot canvas").first().waitFor();
      await take("job");
      await page.goto(`${url}/#/runs?of=jobs&smooth=0.8&ids=${newestJobs.join()}`);
      await page.locator(".plot canvas").first().waitFor();
      await page.locator("#curves").evaluate((heading) => heading.scrollIntoView());
      await take("runs");
      await page.goto(`${url}/#/trajectories`);
      await page.locator("[data-row]").first().click();
      await page.getByRole("region", { name: "Trajectories" }).waitFor();
      await take("trajectories");
      await page.locator("[data-row]").first().click();
      // Selects a token of the last answer, because the page shows the numbers of a token only while its answer has the
      // focus.
      await page.getByRole("listbox").last().focus();
      await page.keyboard.press("ArrowRight");
      await take("trajectory");
      await page.goto(`${url}/#/chat`);
      await page.getByLabel("Model", { exact: true }).waitFor();
      const trained = await page.getByLabel("Model", { exact: true }).inputValue();
      await page.goto(
        `${url}/#/chat?${new URLSearchParams([
          ["m", trained],
          ["m", "hone-tiny"],
          ["tokens", "1"],
        ])}`,
      );
      await page
        .getByLabel("Question", { exact: true })
        .fill("respond with exactly one of 'yes', 'no', 'maybe'");
      await page.keyboard.press("Enter");
      await page
        .getByText(/^ended: /)
        .nth(1)
        .waitFor();
      await take("chat");
    }
  } finally {
    await browser.close();
  }
}
