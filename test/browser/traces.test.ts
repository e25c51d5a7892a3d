// Tests in a real browser the views of recorded traces and of the server's log.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Hone } from "../../src/apps/client/hone.ts";
import { serverOfFile } from "../running-server.ts";
import { registerModel, seenModel } from "../served-jobs.ts";
import { allFaults, inBrowser, openPage } from "./page-under-test.ts";

const ofPage = serverOfFile({ flags: [...seenModel, "--log-level", "info"] });

test("a reader opens a trace, sees when its nested calls ran, and why one failed", inBrowser, async () => {
  const server = ofPage();
  const hone = new Hone({ baseUrl: server.url, apiKey: server.apiKey });
  const { entity, project } = await hone.models.get(await registerModel(server, "traced"));
  const call = (id: string, parent_id: string | null, from: number, to: number) => ({
    project_id: `${entity}/${project}`,
    id,
    op_name: `weave:///${entity}/${project}/op/${id}:3f2a`,
    trace_id: "ticket",
    parent_id,
    started_at: new Date(1_795_998_899_000 + from).toISOString(),
    ended_at: new Date(1_795_998_899_000 + to).toISOString(),
    attributes: {},
    inputs: { question: "أين طلبي؟" },
    output: `output of ${id}`,
    summary: {},
    exception: id === "lookup" ? "no such order" : null,
  });
  const batch = [
    call("answer", null, 0, 2000),
    call("retrieve", "answer", 0, 500),
    call("lookup", "retrieve", 100, 400),
  ];
  await hone.call("POST /v2/{entity}/{project}/calls/complete", {
    path: { entity, project },
    body: { batch },
  });
  const { page, close } = await openPage(server, {
    at: `#/traces?project=${encodeURIComponent(`${entity}/${project}`)}`,
  });
  await page
    .getByRole("row", { name: /answer/ })
    .getByText("2,000 ms")
    .waitFor();
  assert.deepEqual(await allFaults(page), []);
  await page.getByLabel("Words").fill("طلبي no-such-word");
  await page.keyboard.press("Enter");
  await page.getByText("No calls match these filters.").waitFor();
  // A name also finds a nested call, which leads to its trace.
  await page.getByLabel("Words").fill("");
  await page.getByLabel("Name", { exact: true }).fill("lookup");
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "lookup" }).waitFor();
  await page.getByLabel("Words").fill("طلبي");
  await page.getByLabel("Name", { exact: true }).fill("answer");
  await page.getByRole("combobox", { name: "State" }).selectOption("ended");
  await page.getByRole("link", { name: "answer" }).click();
  await page.getByRole("heading", { name: "answer", level: 1 }).waitFor();
  const calls = page.getByRole("list", { name: "Calls" }).getByRole("listitem");
  assert.deepEqual(await calls.locator(".trace-name").allTextContents(), ["answer", "retrieve", "lookup"]);
  assert.deepEqual(await calls.locator(".trace-time").allTextContents(), ["2,000 ms", "500 ms", "300 ms"]);
  const [whole, inner] = await Promise.all(
    [0, 2].map((index) => calls.nth(index).locator(".trace-bar i").boundingBox()),
  );
  assert.ok(
    whole && inner && Math.abs(inner.width / whole.width - 0.15) < 0.02,
    "a bar is as long as its call",
  );
  assert.ok(
    Math.abs((inner.x - whole.x) / whole.width - 0.05) < 0.02,
    "a bar begins when its call does, however deep the call is",
  );
  const inside = page.getByRole("button", { name: "Calls in retrieve", expanded: true });
  await inside.click();
  assert.deepEqual(await calls.locator(".trace-name").allTextContents(), ["answer", "retrieve +1"]);
  await page.getByRole("button", { name: "Expand all" }).click();
  await inside.waitFor();
  await page.getByRole("region", { name: "Output" }).getByText("output of answer").waitFor();
  await calls.nth(2).getByRole("link").click();
  await page.getByText("no such order").waitFor();
  await page.keyboard.press("+");
  await page.getByRole("button", { name: "React with 👍", pressed: true }).waitFor();
  assert.deepEqual(await allFaults(page), []);
  await page.reload();
  await page.getByText("no such order").waitFor();
  await close();
});

test("an administrator filters the log, and sees new lines without reloading", inBrowser, async () => {
  const server = ofPage();
  const { page, close } = await openPage(server, { at: "#/logs?level=debug" });
  const lines = page.getByRole("region", { name: "Log lines" });
  await lines.waitFor();
  assert.equal(
    await lines.getByText("GET /v1/preview/logs 200").count(),
    0,
    "requests of the page are hidden",
  );
  await page.getByLabel("Requests of this page").check();
  await lines
    .getByText(/^GET \/v1\/preview\/logs 200, /)
    .first()
    .waitFor();
  await lines
    .getByText(/^GET \/assets\/:name 200, /)
    .first()
    .waitFor();
  assert.deepEqual(await allFaults(page), []);
  const asked = await fetch(`${server.url}/v1/preview/no-such-route`);
  const requestId = asked.headers.get("x-request-id") ?? "";
  await lines.getByText(new RegExp(requestId)).waitFor();
  await page.getByLabel("Contains").fill(requestId);
  await page.getByRole("button", { name: "Filter" }).click();
  assert.match(page.url(), /page=1/);
  await lines.getByRole("row").nth(1).getByText(new RegExp(requestId)).waitFor();
  assert.equal(await lines.locator("tbody tr").count(), 1);
  await close();
});

test("addresses of older releases still open their views", inBrowser, async () => {
  const { page, close } = await openPage(ofPage(), { at: "#/chats" });
  await page.getByRole("heading", { name: "Conversations", level: 1 }).waitFor();
  assert.equal(
    await page.getByRole("link", { name: "Conversations", exact: true }).getAttribute("aria-current"),
    "page",
  );
  await page.goto(`${page.url().split("#")[0] ?? ""}#/compare`);
  await page.getByRole("heading", { name: "Chat", level: 1 }).waitFor();
  await close();
});
