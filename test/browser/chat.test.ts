// Tests the Chat view in a real browser: several turns, editing, tools, Markdown, requests copied as code, and settings
// and conversation in the page's address.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { serverOfFile } from "../running-server.ts";
import { seenModel } from "../served-jobs.ts";
import { inBrowser, openPage, seriousFaults } from "./page-under-test.ts";

const ofPage = serverOfFile({ flags: seenModel });

interface Asked {
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly [name: string]: unknown;
}

/**
 * Answers the page's chat requests with these deltas, one list per request. Returns the requests, to which new ones are
 * added.
 */
async function answering(page: Page, ...answers: readonly (readonly object[])[]): Promise<readonly Asked[]> {
  const asked: Asked[] = [];
  await page.route("**/v1/chat/completions", async (route) => {
    const deltas = answers[Math.min(asked.length, answers.length - 1)] ?? [];
    // Safe cast: the page sends chat requests.
    asked.push(route.request().postDataJSON() as Asked);
    const chunk = (choice: object): string =>
      `data: ${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", choices: [{ index: 0, ...choice }] })}\n\n`;
    const body = [
      ...deltas.map((delta) => chunk({ delta, finish_reason: null })),
      chunk({ delta: {}, finish_reason: "stop" }),
      "data: [DONE]\n\n",
    ].join("");
    await route.fulfill({ body, contentType: "text/event-stream" });
  });
  return asked;
}

const questionOf = (page: Page) => page.getByRole("form", { name: "New question" }).getByRole("textbox");

async function ask(page: Page, text: string): Promise<void> {
  await questionOf(page).fill(text);
  await questionOf(page).press("Enter");
}

test(
  "a user talks in several turns, edits a question, and finds the conversation after a reload",
  inBrowser,
  async () => {
    const { page, close } = await openPage(ofPage(), { at: "#/chat" });
    const asked = await answering(
      page,
      [
        { reasoning: "Hm." },
        { content: "**Oslo**, <img src=x onerror=alert(1)>" },
        { content: "\n\n* north\n* [x] cold\n\n```js\n59.9\n```\n" },
      ],
      [{ content: "Yes." }],
      [{ content: "Rome." }],
    );
    await page.getByText("System prompt, sampling and tools").click();
    await page.getByLabel("System prompt").fill("You know places.");
    await page.getByLabel("Stop strings, one per line").fill("END");
    await page.getByLabel("top_p").fill("0.5");
    await ask(page, "Where is it?");
    const answer = page.getByRole("region", { name: "Answer 1 to question 1" });
    await answer.locator("strong", { hasText: "Oslo" }).waitFor();
    await answer.locator("li", { hasText: "north" }).waitFor();
    await answer.getByText("<img src=x onerror=alert(1)>").waitFor();
    await answer.locator("li", { hasText: "☑ cold" }).waitFor();
    await answer.getByRole("button", { name: "Copy" }).first().waitFor();
    await answer.locator(".code-number", { hasText: "59.9" }).waitFor();
    assert.equal(await answer.locator("img").count(), 0);
    await answer.getByText("Thoughts").click();
    await answer.getByText("Hm.").waitFor();
    await ask(page, "Sure?");
    await page.getByText("Yes.").waitFor();
    assert.deepEqual(
      asked[1]?.messages.map(({ role }) => role),
      ["system", "user", "assistant", "user"],
    );
    const { stop, top_p: topP, temperature, max_completion_tokens: most } = asked[1] ?? {};
    assert.deepEqual(
      { stop, topP, temperature, most },
      { stop: ["END"], topP: 0.5, temperature: 1, most: 512 },
    );
    await page.getByRole("article", { name: "Round 1" }).getByRole("button", { name: "Edit" }).click();
    const edited = page.getByRole("article", { name: "Round 1" }).getByRole("textbox", { name: "Question" });
    await edited.fill("Where is Rome?");
    await edited.press("Enter");
    await page.getByText("Rome.", { exact: true }).waitFor();
    assert.equal(await page.getByText("Yes.").count(), 0);
    assert.deepEqual(
      asked[2]?.messages.map(({ content }) => content),
      ["You know places.", "Where is Rome?"],
    );
    await page.getByRole("button", { name: "Regenerate" }).click();
    await page.locator(".reply-body[aria-busy=true]").waitFor({ state: "detached" });
    assert.equal(asked.length, 4);
    assert.deepEqual(await seriousFaults(page), []);
    await page.reload();
    await page.getByText("Rome.", { exact: true }).waitFor();
    await page.getByText("Where is Rome?").waitFor();
    await page.getByText("Feedback on this answer").waitFor();
    await page.getByText("System prompt, sampling and tools").click();
    assert.equal(await page.getByLabel("System prompt").inputValue(), "You know places.");
    await close();
  },
);

test("a user gives the results of called tools, and copies the request as code", inBrowser, async () => {
  const { page, close } = await openPage(ofPage(), { at: "#/chat", colorScheme: "dark", width: 390 });
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const part = (index: number, id: string | undefined, given: string) => ({
    tool_calls: [{ index, id, type: "function", function: { name: id && "find", arguments: given } }],
  });
  const asked = await answering(
    page,
    [part(0, "c1", '{"city":'), part(0, undefined, '"Oslo"}')],
    [{ content: "In the north." }],
  );
  await page.getByText("System prompt, sampling and tools").click();
  await page.getByLabel("Tools, as a JSON list").fill("[{");
  await ask(page, "Where is Oslo?");
  await page.getByText(/^Tools: /).waitFor();
  assert.equal(asked.length, 0);
  const tools = [{ type: "function", function: { name: "find" } }];
  await page.getByLabel("Tools, as a JSON list").fill(JSON.stringify(tools));
  await page.getByRole("button", { name: "Regenerate" }).click();
  await page.getByText('{"city":"Oslo"}').waitFor();
  await page.getByLabel("Result of find").fill("59.9, 10.7");
  assert.deepEqual(await seriousFaults(page), []);
  await page.getByRole("button", { name: "Send results" }).click();
  await page.getByText("In the north.").waitFor();
  assert.deepEqual(asked[1]?.["tools"], tools);
  assert.deepEqual(asked[1]?.messages.slice(1), [
    {
      role: "assistant",
      content: "",
      tool_calls: [{ id: "c1", type: "function", function: { name: "find", arguments: '{"city":"Oslo"}' } }],
    },
    { role: "tool", tool_call_id: "c1", content: "59.9, 10.7" },
  ]);
  const copied = async (): Promise<string> => {
    await page.getByRole("button", { name: "Copy as Python" }).click();
    await page.getByText("Copied").waitFor();
    return String(await page.evaluate("navigator.clipboard.readText()"));
  };
  // Without a question, the code repeats the last answer, with the same seed.
  const repeated = await copied();
  assert.match(repeated, /"59\.9, 10\.7"/);
  assert.ok(repeated.includes(`seed=${String(asked[1]?.["seed"])}`));
  assert.doesNotMatch(repeated, /In the north/);
  await page.getByText("Copied").waitFor({ state: "detached" });
  await questionOf(page).fill("And Rome?");
  assert.match(await copied(), /client\.chat\.completions\.create\([^]*"And Rome\?"/);
  assert.equal(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0);
  await close();
});
