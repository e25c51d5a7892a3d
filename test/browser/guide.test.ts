// Tests the guide in a real browser: search works under the server's content security policy.
import assert from "node:assert/strict";
import { test } from "node:test";
import { serverOfFile } from "../running-server.ts";
import { seenModel } from "../served-jobs.ts";
import { inBrowser, openPage, seriousFaults } from "./page-under-test.ts";

const ofPage = serverOfFile({ flags: seenModel });

test("a reader finds a page of the guide by searching for its words", inBrowser, async () => {
  const server = ofPage();
  const { page, close } = await openPage(server, { at: "guide/guides/keys.html", signsIn: false });
  assert.deepEqual(await seriousFaults(page), []);
  await page.keyboard.press("/");
  await page.keyboard.type("annotation queue");
  await page.locator("#search a").first().click();
  await page.locator("main", { hasText: /queue/i }).waitFor();
  assert.match(page.url(), /\/guide\/\w+\/[\w-]+\.html/);
  await close();
});
