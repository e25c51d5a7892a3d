// `npm run screenshots`: makes the pictures of docs/dashboard.md, of a server of its own on which the demo has just run.
// Needs a Chromium: Debian's package, or one that CHROMIUM names.
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
  // Few jobs end before the model has learned: their curve would be a line.
  const demo = ["demo", "--url", url, "--data", data, "--seed", "1", "--jobs", "8"];
  const { status } = spawnSync(process.execPath, [hone, ...demo], { stdio: "inherit" });
  if (status !== 0) throw new Error("the demo failed");
  await takePictures(url, readFileSync(join(data, "admin-key"), "utf8").trim());
} finally {
  server.kill();
  await once(server, "close");
  rmSync(data, { recursive: true, force: true });
}

/** The address that the server says. */
async function listening({ stdout }) {
  let said = "";
  for await (const part of stdout) {
    said += part;
    const [, url] = /listening on (http:\S+)/.exec(said) ?? [];
    if (url !== undefined) return url;
  }
  throw new Error(`the server did not start:\n${said}`);
}

async function takePictures(url, key) {
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
        await page.getByText("Loading …").waitFor({ state: "detached" });
        // A curve is drawn in the frame after its numbers came.
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
    }
  } finally {
    await browser.close();
  }
}
