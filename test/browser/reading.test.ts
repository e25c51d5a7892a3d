// Tests in a real browser the dashboard's views for reading and judging: a trajectory with its log-probabilities, two
// models that answer the same question, and feedback by keyboard.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { Hone } from "../../src/apps/client/hone.ts";
import { eventually, serverOfFile, type RunningServer } from "../running-server.ts";
import { registerModel, seenModel } from "../served-jobs.ts";
import { inBrowser, openPage, seriousFaults } from "./page-under-test.ts";

interface World {
  readonly server: RunningServer;
  readonly hone: Hone;
  readonly modelId: string;
}

const ofPage = serverOfFile({ flags: seenModel });
let worldCount = 0;

/** Registers a new model on the page's server. */
async function newWorld(): Promise<World> {
  const server = ofPage();
  const modelId = await registerModel(server, `read-${++worldCount}`);
  return { server, hone: new Hone({ baseUrl: server.url, apiKey: server.apiKey }), modelId };
}

const question = { role: "user", content: "Where is it?" };
const call = { id: "c1", type: "function", function: { name: "find", arguments: '{"city":"Oslo"}' } };
const reply = {
  finish_reason: "stop",
  message: { role: "assistant", content: "In **Oslo**." },
  logprobs: {
    content: [
      { token: "In", logprob: -0.0513, top_logprobs: [{ token: "At", logprob: -3.1 }] },
      { token: " Oslo", logprob: -1.2 },
      { token: ".", logprob: -6.5 },
    ],
  },
};
const history = [
  { role: "system", content: "You know places." },
  question,
  { finish_reason: "tool_calls", message: { role: "assistant", content: null, tool_calls: [call] } },
  { role: "tool", tool_call_id: "c1", content: "59.9, 10.7" },
  reply,
];

/** Logs 60 short trajectories in the split `train`, and one with all kinds of content in `val`. */
async function fill({ hone, modelId }: World): Promise<void> {
  const short = Array.from({ length: 60 }, (_, index) => ({
    messages_and_choices: [
      question,
      { ...reply, message: { role: "assistant", content: `Answer ${index + 1}` } },
    ],
    reward: index / 100,
  }));
  await hone.trajectories.log(modelId, { split: "train", trajectory_groups: [{ trajectories: short }] });
  const whole = {
    messages_and_choices: history,
    additional_histories: [{ messages_and_choices: [question, reply], tools: null }],
    reward: 0.75,
    metrics: { right: true, distance: 12.5 },
    auto_metrics: { duration: 7.25 },
    logs: ["asked the map"],
    start_time: "2026-01-02T03:04:05Z",
    metadata: { scenario_id: "north" },
  };
  await hone.trajectories.log(modelId, { split: "val", trajectory_groups: [{ trajectories: [whole] }] });
}

const focused = (page: Page): Promise<unknown> => page.evaluate("document.activeElement.textContent");

test(
  "a reader finds a trajectory and reads it with its log-probabilities using the keyboard",
  inBrowser,
  async () => {
    const world = await newWorld();
    await fill(world);
    const { server, modelId } = world;
    const { page, close } = await openPage(server, { at: `#/trajectories/${modelId}` });
    await page.getByText("61 trajectories").waitFor();
    await page.getByRole("link", { name: "Older" }).click();
    await page.getByRole("link", { name: "11", exact: true }).waitFor();
    await page.getByRole("link", { name: "Newer" }).click();
    await page.getByRole("link", { name: "61", exact: true }).waitFor();
    await page.getByLabel("Split").selectOption("val");
    await page.getByText("1 trajectory").waitFor();
    assert.match(page.url(), /split=val/);
    await page.getByRole("heading", { level: 1 }).focus();
    await page.keyboard.press("j");
    assert.equal(await focused(page), "61");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Trajectory 61" }).waitFor();
    await page.getByRole("heading", { name: "Reward 0.75" }).waitFor();
    for (const text of ["You know places.", "find", '"city": "Oslo"', "59.9, 10.7", "12.5", "Branch 1"])
      await page.getByText(text).first().waitFor();
    assert.deepEqual(await seriousFaults(page), []);
    const tokens = page.getByRole("listbox", { name: "Tokens of turn 5" });
    await tokens.focus();
    const detail = page.locator("article", { has: tokens }).locator(".token-detail");
    await detail.getByText("−0.051 (95.0 %)").waitFor();
    await detail.getByText("At", { exact: true }).waitFor();
    await page.keyboard.press("ArrowRight");
    await detail.getByText("−1.200 (30.1 %)").waitFor();
    await tokens.getByRole("option").nth(2).hover();
    await detail.getByText("−6.500 (0.15 %)").waitFor();
    for (const text of ["7.25", "1 log line"]) await page.getByText(text).first().waitFor();
    await page.getByText("JSON", { exact: true }).click();
    await page.getByRole("region", { name: "JSON" }).getByText('"scenario_id": "north"').waitFor();
    await page.getByRole("button", { name: "Markdown" }).click();
    await page.locator("strong", { hasText: "Oslo" }).first().waitFor();
    await tokens.waitFor({ state: "detached" });
    assert.deepEqual(await seriousFaults(page), []);
    // The list that is filtered by the split has no other trajectory.
    assert.equal(await page.getByRole("link", { name: "Next" }).count(), 0);
    await page.getByRole("heading", { level: 1 }).focus();
    await page.keyboard.press("u");
    await page.getByText("1 trajectory").waitFor();
    await page.getByLabel("Metadata").fill("scenario_id=south");
    await page.keyboard.press("Enter");
    await page.getByText("No trajectories match these filters.").waitFor();
    await page.getByRole("button", { name: "Clear" }).click();
    await page.getByRole("link", { name: "60", exact: true }).click();
    await page.reload();
    await page.getByRole("link", { name: "Previous" }).waitFor();
    await page.keyboard.press("n");
    await page.getByRole("heading", { name: "Trajectory 59" }).waitFor();
    await page.getByRole("link", { name: "Trajectory 58, reward 0.57" }).click();
    await page.getByRole("heading", { name: "Trajectory 58" }).waitFor();
    await close();
  },
);

test("feedback can be given by keyboard, is listed, and can be undone by its author", inBrowser, async () => {
  const world = await newWorld();
  await fill(world);
  const { server, modelId, hone } = world;
  const { page, close } = await openPage(server, {
    at: `#/trajectories/${modelId}/61`,
    colorScheme: "dark",
    width: 360,
  });
  await page.getByText("None yet.").waitFor();
  assert.deepEqual(await seriousFaults(page), []);
  assert.equal(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0);
  const { id } = await hone.trajectories.get(modelId, "61");
  const { entity, project } = await hone.models.get(modelId);
  const given = async () =>
    (await hone.feedback.on(`${entity}/${project}`, `hone:///${entity}/${project}/call/${id}`).all()).map(
      ({ feedback_type: type, payload }) => [type, payload["emoji"] ?? payload["note"] ?? payload["value"]],
    );
  await page.keyboard.press("+");
  await page.getByRole("button", { name: "React with 👍", pressed: true }).waitFor();
  await page.keyboard.press("c");
  await page.keyboard.type("Too sure of itself");
  await page.keyboard.press("Control+Enter");
  await page.getByRole("listitem").getByText("Too sure of itself").waitFor();
  await page.getByText("Other feedback").click();
  await page.getByLabel("Payload, as JSON").fill("{");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("The payload is not JSON").waitFor();
  await page.getByLabel("Payload, as JSON").fill('{"value": 0.5}');
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("3 records").waitFor();
  assert.deepEqual(await given(), [
    ["vendor.reaction.1", "👍"],
    ["vendor.note.1", "Too sure of itself"],
    ["score", 0.5],
  ]);
  await page.getByRole("button", { name: "Remove Too sure of itself" }).click();
  await page.getByText("2 records").waitFor();
  await page.getByRole("heading", { level: 1 }).focus();
  await page.keyboard.press("1");
  await page.getByRole("button", { name: "React with 👍", pressed: false }).waitFor();
  assert.deepEqual(await given(), [["score", 0.5]]);
  await close();
});

test("a chat shows all feedback on it, whichever URI scheme the references use", inBrowser, async () => {
  const { server, hone, modelId } = await newWorld();
  const asked = { model: modelId, max_tokens: 2, seed: 1 };
  const ask = (content: string, n = 1) =>
    hone.chat.create({ ...asked, n, messages: [{ role: "user", content }] });
  const [one, two] = [await ask("One answer"), await ask("Two answers", 2)];
  const { entity, project } = await hone.models.get(modelId);
  const path = (chat: { readonly request_id: string }) => `:///${entity}/${project}/call/${chat.request_id}`;
  const encoded = path(one).replace(/.$/, (last) => `%${last.charCodeAt(0).toString(16)}`);
  const references = [
    ...["hone", "weave", "WANDB-artifact", "<scheme>", "a+b.c"].map((scheme) => scheme + path(one)),
    `hone${encoded}`,
    `hone${path(one)}/`,
    `weave${path(one)}/attr/choices/index/0`,
    `weave${path(one)}/attr/choices/index/0/key/message`,
    `hone${path(two)}/attr/usage`,
    `weave${path(two)}/attr/choices/index/1`,
    `weave${path(two)}/attr/choices/index/10`,
  ];
  const givenTo = (reference: string) => ({
    project_id: `${entity}/${project}`,
    weave_ref: reference,
    feedback_type: "score",
    payload: { on: reference },
  });
  await hone.feedback.createBatch(references.map(givenTo));
  const address = ({ request_id: id }: { readonly request_id: string }) =>
    `#/chats/${id}?project=${encodeURIComponent(`${entity}/${project}`)}`;
  const { page, close } = await openPage(server, { at: address(one) });
  await page.getByText("9 records").waitFor();
  for (const reference of references.slice(0, 9))
    await page.getByText(`score: on ${reference}`, { exact: true }).waitFor();
  await page.goto(`${server.url}/${address(two)}`);
  await page.getByRole("region", { name: "Feedback on answer 1" }).getByText("None yet.").waitFor();
  await page.getByRole("region", { name: "Feedback on answer 2" }).getByText("1 record").waitFor();
  await page.getByRole("region", { name: "Feedback", exact: true }).getByText("2 records").waitFor();
  await close();
});

test("recorded chats can be listed, filtered, read with their tokens, and judged", inBrowser, async () => {
  const { server, hone, modelId } = await newWorld();
  const asked = { model: modelId, max_tokens: 6, n: 2, temperature: 1, seed: 1 };
  for (const content of ["First question", "Second question"])
    await hone.chat.create({ ...asked, messages: [{ role: "user", content }] });
  const { page, close } = await openPage(server, { at: "#/conversations" });
  await page.getByRole("cell", { name: "First question" }).waitFor();
  await page
    .getByRole("row", { name: /Second question/ })
    .getByRole("link")
    .click();
  await page.getByRole("heading", { name: "Conversation", exact: true }).waitFor();
  await page.getByText("Second question").first().waitFor();
  const answers = page.getByRole("article", { name: "2 alternative answers" });
  await answers.getByRole("listbox", { name: "Tokens of answer 2" }).waitFor();
  await page.keyboard.press("n");
  await page.getByText("First question").first().waitFor();
  await page.keyboard.press("p");
  await page.getByText("Second question").first().waitFor();
  const second = page.getByRole("region", { name: "Feedback on answer 2" });
  await second.getByRole("button", { name: "React with 👎" }).click();
  await second.getByText("1 record").waitFor();
  assert.deepEqual(await seriousFaults(page), []);
  const [newest] = await hone.recordings.list({ feedback: "any" }).all();
  assert.equal(newest?.prompt, "Second question");
  await page
    .getByRole("navigation", { name: "Breadcrumb" })
    .getByRole("link", { name: "Conversations" })
    .click();
  await page.getByRole("combobox", { name: "Feedback" }).selectOption("none");
  await page.getByRole("cell", { name: "First question" }).waitFor();
  await page.getByRole("cell", { name: "Second question" }).waitFor({ state: "detached" });
  assert.deepEqual(await seriousFaults(page), []);
  await page
    .getByRole("row", { name: /First question/ })
    .getByRole("link")
    .click();
  await page.getByText("Difference in words").click();
  await page.locator(".word-diff ins, .word-diff del").first().waitFor();
  // The chat contains the first answer, and shows its recorded tokens.
  await page.getByRole("link", { name: "Open in chat" }).click();
  await page.getByRole("checkbox", { name: "Token probabilities" }).check();
  await page.getByRole("listbox", { name: /^Tokens of/ }).waitFor();
  await close();
});

test("two models answer one question side by side, and the answers can be judged", inBrowser, async () => {
  const world = await newWorld();
  const { server, hone, modelId } = world;
  const { entity, project, name, base_model: base } = await hone.models.get(modelId);
  const { page, close } = await openPage(server, { at: "#/chat?max_tokens=8" });
  await page.getByLabel("Model", { exact: true }).fill(`${entity}/${project}/${name}`);
  await page.getByRole("button", { name: "Add a model" }).click();
  await page.getByLabel("Model 2").fill(base);
  await page.getByRole("checkbox", { name: "Token probabilities" }).check();
  await page.getByLabel("Question", { exact: true }).fill("Hi");
  await page.keyboard.press("Enter");
  const sides = [1, 2].map((side) => page.getByRole("region", { name: `Answer ${side} to question 1` }));
  for (const side of sides) await side.getByText(/^ended: /).waitFor();
  assert.match(page.url(), /m=.+&m=/);
  // An untrained version equals the base model, so both sides give the same tokens with the same seed.
  const said = await Promise.all(sides.map((side) => side.getByRole("listbox").textContent()));
  assert.notEqual(said[0], "");
  assert.equal(said[0], said[1]);
  await sides[0]?.getByText("Feedback on this answer").click();
  await sides[0]?.getByRole("button", { name: "React with 👎" }).click();
  await sides[0]?.getByText("1 record").waitFor();
  assert.deepEqual(await seriousFaults(page), []);
  await page.getByLabel("Model 2").fill("nobody");
  await page.getByLabel("Next question").fill("And now?");
  await page.keyboard.press("Enter");
  await page
    .getByRole("region", { name: "Answer 2 to question 2" })
    .getByText(/nobody/)
    .last()
    .waitFor();
  await page
    .getByRole("region", { name: "Answer 1 to question 2" })
    .getByText(/^ended: /)
    .waitFor();
  await close();
});

test("generation by two models can be stopped on both sides, by button and by key", inBrowser, async () => {
  const { server } = await newWorld();
  const { page, close } = await openPage(server, { at: "#/chat?m=tiny&m=tiny" });
  let askedCount = 0;
  // Never answers these requests, so that there is something to stop even if the model is fast.
  await page.route("**/v1/chat/completions", () => void (askedCount += 1));
  const question = page.getByRole("form", { name: "New question" }).getByRole("textbox");
  const button = page.getByRole("button", { name: "Stop" });
  for (const stop of [() => button.click(), () => page.keyboard.press("Escape")]) {
    await question.fill("Hi");
    await question.press("Enter");
    await page.getByText("answering", { exact: true }).nth(1).waitFor();
    await eventually("both requests are sent", async () => (askedCount === 2 ? true : null));
    askedCount = 0;
    await stop();
    await page.getByText("stopped", { exact: true }).nth(1).waitFor();
    assert.equal(await button.isDisabled(), true);
    await page.getByRole("button", { name: "New chat" }).click();
  }
  await close();
});

test(
  "on a narrow screen, the filters of a list are behind a button, and a missing trajectory is reported",
  inBrowser,
  async () => {
    const { server, modelId } = await newWorld();
    const at = `#/trajectories/${modelId}`;
    const { page, close } = await openPage(server, { at, width: 360 });
    await page.getByRole("button", { name: "Filters" }).waitFor();
    assert.equal(await page.getByLabel("Split").isVisible(), false);
    await page.getByRole("button", { name: "Filters" }).click();
    await page.getByLabel("Split").waitFor();
    await page.goto(`${server.url}/${at}/99`);
    await page.getByRole("alert").waitFor();
    assert.deepEqual(await seriousFaults(page), []);
    await close();
  },
);
