// Opens the dashboard as users see it: in a real Chromium, with a separate server. A test fails if the browser reports
// an error, the content security policy is violated, or the page sends a request to another host.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { after, type TestOptions } from "node:test";
import { chromium, type Browser, type Page } from "playwright-core";
import type { RunningServer } from "../running-server.ts";

/**
 * Path of the browser. If a test is started by hand, this is Debian's path; `npm test` searches further
 * (scripts/chromium.js).
 */
const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

const noBrowser = "THE PAGE IS NOT TESTED: there is no Chromium.";

/** Options for tests of the dashboard. Without a browser, the tests are skipped with a reason. */
export const inBrowser: TestOptions = !existsSync(executablePath)
  ? { skip: noBrowser }
  : { timeout: 120_000 };

let opened: Promise<Browser> | null = null;

/** Pages that ended tests have emptied. A new page costs several times as much as another address in a used one. */
const emptied: Page[] = [];

export interface SeenPage {
  readonly page: Page;
  /** Closes the page; fails if the browser reported an error meanwhile. */
  readonly close: () => Promise<void>;
}

/**
 * Opens the server's page with empty storage.
 *
 * @param options.at part of the URL after `/`, such as `#/models`
 * @param options.signsIn true to enter the server's key if the page asks for it; default true
 * @param options.isReused false if the test changes its page for good, such as the clock of the page; default true
 */
export async function openPage(
  server: RunningServer,
  {
    at = "",
    signsIn = true,
    colorScheme = "light",
    width = 1280,
    isReused = true,
  }: {
    readonly at?: string;
    readonly signsIn?: boolean;
    readonly colorScheme?: "light" | "dark";
    readonly width?: number;
    readonly isReused?: boolean;
  } = {},
): Promise<SeenPage> {
  const page = (isReused ? emptied.pop() : undefined) ?? (await newPage());
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize({ width, height: 800 });
  const faults: string[] = [];
  page.on("pageerror", ({ message }) => faults.push(`error: ${message}`));
  page.on("console", (message) => {
    // Ignores responses with status 401, 404 or 422, which the browser also logs as errors. The tests expect them, for a
    // wrong key, for missing objects and for wrong input.
    if (message.type() === "error" && !/status of (401|404|422)/.test(message.text()))
      faults.push(message.text());
  });
  page.on("request", (request) => {
    if (!/^(data|blob):/.test(request.url()) && new URL(request.url()).origin !== server.url)
      faults.push(`a request elsewhere: ${request.url()}`);
  });
  await page.goto(`${server.url}/${at}`);
  if (signsIn) await signIn(page, server.apiKey);
  return {
    page,
    close: async () => {
      if (isReused) await empty(page);
      else await page.context().close();
      assert.deepEqual(faults, []);
      if (isReused) emptied.push(page);
    },
  };
}

async function newPage(): Promise<Page> {
  const context = await (await browser()).newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  await page.addInitScript(watchLayout);
  return page;
}

/** Removes everything that a test has left in its page. */
async function empty(page: Page): Promise<void> {
  await page.unrouteAll();
  await page.context().clearPermissions();
  await page.evaluate("localStorage.clear(); sessionStorage.clear()");
  await page.goto("about:blank");
  page.removeAllListeners();
}

/**
 * Returns Chromium's layout shift score. It measures how much visible content has moved since loading without user
 * input.
 */
export function layoutShift(page: Page): Promise<number> {
  return page.evaluate("layoutShift");
}

const watchLayout = `
  globalThis.layoutShift = 0;
  new PerformanceObserver((list) => {
    for (const { hadRecentInput, value } of list.getEntries()) if (!hadRecentInput) layoutShift += value;
  }).observe({ type: "layout-shift", buffered: true });
`;

/** Makes the page behave as if its tab were hidden or visible. */
export async function setHidden(page: Page, isHidden: boolean): Promise<void> {
  await page.evaluate(`
    Object.defineProperty(document, "hidden", { value: ${isHidden}, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  `);
}

export async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel("Key of this server").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  // On narrow screens the navigation is hidden until the user opens the menu.
  await page.locator("#sidebar").waitFor({ state: "attached" });
}

/** Confirms the question of a dialog, and waits until the dialog has closed. */
export async function answerQuestion(page: Page, question: string | RegExp, button: string): Promise<void> {
  const dialog = page.getByRole("dialog", { name: question });
  await dialog.getByRole("button", { name: button, exact: true }).click();
  await dialog.waitFor({ state: "detached" });
}

/** Returns the violations that axe-core rates serious or critical. */
export async function seriousFaults(page: Page): Promise<readonly string[]> {
  return (await violations(page)).filter(({ isSerious }) => isSerious).map(({ text }) => text);
}

/** Returns all violations of axe-core. */
export async function allFaults(page: Page): Promise<readonly string[]> {
  return (await violations(page)).map(({ text }) => text);
}

async function violations(
  page: Page,
): Promise<readonly { readonly isSerious: boolean; readonly text: string }[]> {
  // Runs through the browser's debugger, to which the content security policy does not apply.
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axeSource());
  const found: AxeResults["violations"] = await page.evaluate(
    "axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations)",
  );
  return found.flatMap(({ id, impact, nodes }) =>
    nodes.map(({ html }) => ({
      isSerious: impact === "serious" || impact === "critical",
      text: `${id}: ${html}`,
    })),
  );
}

interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string;
    readonly nodes: readonly { readonly html: string }[];
  }[];
}

function axeSource(): string {
  const { source } = createRequire(import.meta.url)("axe-core") as { readonly source: string };
  return source;
}

function browser(): Promise<Browser> {
  opened ??= chromium.launch({
    executablePath,
    // Drawing by the processor directly costs less than through an emulated graphics card.
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
  });
  return opened;
}

after(async () => {
  await (await opened)?.close();
});
