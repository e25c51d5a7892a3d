// Measures how fast the dashboard is with many stored trajectories. Runs a server, and opens the page in a real
// Chromium. Times user actions in the browser, from the key press or click to the frame that shows the result.
import { parseArgs } from "node:util";
import { chromium, type Page } from "playwright-core";
import { Hone } from "../../src/apps/client/hone.ts";
import {
  newDataFolder,
  removeDataFolder,
  startServer,
  type RunningServer,
} from "../../test/running-server.ts";
import { fillModel } from "./filled-model.ts";
import { median } from "./median.ts";

const help = `Usage: node dist/tools/bench/page.js [--count <number>] [--rounds <number>] [--json]
Logs --count trajectories (default 100000) to a server on the loopback address and uses its web page in Chromium: loads the page,
opens the list, goes to the next page, filters by split and by a reward range that one in a thousand has, moves with the
keyboard, opens a trajectory and shows its tokens. Prints the median and the maximum of --rounds rounds (default 10) in
milliseconds. The environment variable CHROMIUM sets the path of the browser (default /usr/bin/chromium).`;

/** A user action: a script that starts it, and a script that checks whether its result is visible. */
interface Step {
  readonly name: string;
  readonly begin: string;
  readonly isShown: string;
}

const { values } = parseArgs({
  options: {
    count: { type: "string", default: "100000" },
    rounds: { type: "string", default: "10" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help) process.stdout.write(`${help}\n`);
else await measure(Number(values.count), Number(values.rounds));

async function measure(count: number, rounds: number): Promise<void> {
  const dataFolder = newDataFolder();
  const server = await startServer({ dataFolder, flags: ["--auth", "on"] });
  try {
    const hone = new Hone({ baseUrl: server.url, apiKey: server.apiKey });
    const { id } = await hone.model("tools/bench/page", { base: "hone-tiny" });
    await fillModel(server, id, count);
    const figures = await figuresOf(server, stepsOver(id, count), rounds);
    if (values.json) return void process.stdout.write(`${JSON.stringify({ count, figures }, null, 2)}\n`);
    process.stdout.write(`${count} trajectories\n`);
    for (const { name, medianMs, slowestMs } of figures)
      process.stdout.write(`${name.padEnd(28)} ${medianMs.toFixed(0)} ms, at most ${slowestMs.toFixed(0)}\n`);
  } finally {
    await server.kill();
    removeDataFolder(dataFolder);
  }
}

function stepsOver(modelId: string, count: number): readonly Step[] {
  const list = `#/trajectories/${modelId}`;
  const firstRow = `document.querySelector("[data-row]")?.textContent`;
  const heading = `document.querySelector("h1")?.textContent`;
  const key = (pressed: string): string =>
    `document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "${pressed}", bubbles: true }))`;
  return [
    { name: "open the list", begin: `location.hash = "${list}"`, isShown: `${firstRow} === "${count}"` },
    {
      name: "the next page",
      begin: `document.querySelector('[rel="next"]').click()`,
      isShown: `${firstRow} === "${count - 50}"`,
    },
    {
      name: "the next row, by a key",
      begin: key("j"),
      isShown: `document.activeElement.matches("[data-row]")`,
    },
    {
      name: "filter by a split",
      begin: `{ const split = document.querySelector("[name=split]"); split.value = "val"; split.form.requestSubmit(); }`,
      isShown: `location.hash.includes("split=val") && ${firstRow} === "${count}"`,
    },
    {
      name: "filter by rare rewards",
      begin: `location.hash = "${list}?reward_min=0.999"`,
      isShown: `[...document.querySelectorAll("tbody td:nth-child(2)")].every((cell) => Number(cell.textContent) >= 0.999)
        && document.querySelectorAll("[data-row]").length > 0`,
    },
    {
      name: "open one",
      begin: `document.querySelector("[data-row]").click()`,
      isShown: `${heading}.startsWith("Trajectory ") && document.querySelector("[role=listbox]") !== null`,
    },
    {
      name: "read a token",
      begin: `document.querySelector("[role=listbox]").focus()`,
      isShown: `document.querySelector(".token-detail strong") !== null`,
    },
  ];
}

async function figuresOf(server: RunningServer, steps: readonly Step[], rounds: number) {
  const times = new Map<string, number[]>();
  const add = (name: string, ms: number): void => void times.set(name, [...(times.get(name) ?? []), ms]);
  const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  for (let round = 0; round < rounds; round++) {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(server.url);
    await page.getByLabel("Key of this server").fill(server.apiKey);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("navigation", { name: "Views" }).waitFor();
    add("first view", await firstViewMs(page));
    for (const { name, begin, isShown } of steps) add(name, await timed(page, begin, isShown));
    await context.close();
  }
  await browser.close();
  return [...times].map(([name, all]) => ({ name, medianMs: median(all), slowestMs: Math.max(...all) }));
}

/** Measures the time from requesting the page to its first paint. The page signs in with a stored API key. */
async function firstViewMs(page: Page): Promise<number> {
  await page.reload();
  await page.getByRole("heading", { level: 1 }).waitFor();
  return await page.evaluate<number>(`performance.getEntriesByName("first-contentful-paint")[0].startTime`);
}

/**
 * Returns the milliseconds from the start of an action to the first frame that shows its result. @throws Error after
 * 10 s
 */
async function timed(page: Page, begin: string, isShown: string): Promise<number> {
  return await page.evaluate<number>(`new Promise((resolve, reject) => {
    const start = performance.now();
    ${begin};
    const look = () => {
      const ms = performance.now() - start;
      if (${isShown}) requestAnimationFrame(() => resolve(performance.now() - start));
      else if (ms > 10000) reject(new Error("it is not shown: " + location.hash));
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  })`);
}
