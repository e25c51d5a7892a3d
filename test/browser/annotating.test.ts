// Tests annotation queues in a real browser: making and finding a queue, judging a model's
// answers using only the keyboard, and training on the answers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Hone } from "../../src/apps/client/hone.ts";
import { eventually, serverOfFile } from "../running-server.ts";
import { registerModel, seenModel } from "../served-jobs.ts";
import { answerQuestion, inBrowser, openPage, seriousFaults } from "./page-under-test.ts";

const ofPage = serverOfFile({ flags: seenModel });

test(
  "an annotator finds a queue and answers its questions about recorded chats using the keyboard",
  inBrowser,
  async () => {
    const server = ofPage();
    const modelId = await registerModel(server, "judged");
    const hone = new Hone({ baseUrl: server.url, apiKey: server.apiKey });
    const { entity, project } = await hone.models.get(modelId);
    const project_id = `${entity}/${project}`;
    const answers = [];
    for (const content of ["Where is Oslo?", "Where is Rome?"])
      answers.push(
        await hone.chat.create({ model: modelId, max_tokens: 4, messages: [{ role: "user", content }] }),
      );
    const queue_id = await hone.queues.create({
      project_id,
      name: "tone",
      questions: [
        { name: "tone", text: "How does it sound?", schema: { enum: ["kind", "rude"] } },
        { name: "why", text: "Why?", schema: { type: "string" }, optional: true },
      ],
      annotators_per_item: 2,
    });
    const queue = { project_id, queue_id };
    const call_ids = [...answers.map(({ id }) => id), "elsewhere"];
    assert.equal((await hone.queues.add(queue, { call_ids })).added_count, 3);

    const { page, close } = await openPage(server, {
      at: `#/queues?project=${encodeURIComponent(project_id)}`,
    });
    await page.getByRole("link", { name: "tone", exact: true }).waitFor();
    assert.deepEqual(await seriousFaults(page), []);
    await page.getByRole("heading", { level: 1 }).focus();
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "How does it sound?" }).waitFor();
    await page.getByText("Where is Oslo?").waitFor();
    assert.deepEqual(await seriousFaults(page), []);
    // While the key help is open, keys do not answer questions.
    await page.keyboard.press("?");
    await page.getByText("answer kind").waitFor();
    await page.keyboard.press("2");
    await page.keyboard.press("Escape");
    await page.getByText("answer kind").waitFor({ state: "hidden" });
    assert.ok(await page.getByRole("heading", { name: "How does it sound?" }).isVisible());
    await page.keyboard.press("1");
    await page.getByRole("heading", { name: "Why?" }).waitFor();
    await page.keyboard.press("w");
    await page.keyboard.type("It greets");
    await page.keyboard.press("Enter");
    await page.getByText("Where is Rome?").waitFor();
    // Undoes the answer to the first item and gives a different one.
    await page.getByRole("heading", { level: 1 }).focus();
    await page.keyboard.press("u");
    await page.getByText("Where is Oslo?").waitFor();
    await page.keyboard.press("2");
    await page.getByRole("heading", { name: "Why?" }).waitFor();
    await page.keyboard.press("-");
    await page.getByText("Where is Rome?").waitFor();
    await page.keyboard.press("s");
    await page.getByText("was not recorded by this server").waitFor();
    await page.getByText("2 of 3 items done, 1 skipped").waitFor();
    // Leaving the queue releases the leased item.
    await page.getByRole("navigation", { name: "Breadcrumb" }).getByRole("link", { name: "Queues" }).click();
    await page.getByRole("row", { name: /^tone/ }).getByRole("link", { name: "3", exact: true }).click();
    const items = page.getByRole("region", { name: "Items" }).last();
    await items.getByText("tone: rude").waitFor();
    // An item that has answers is judged again only after a question, because that deletes the answers.
    await items.getByRole("button", { name: "Judge again" }).first().click();
    await page.getByRole("dialog").getByText("are deleted now").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    await items.getByText("tone: rude").waitFor();
    await page.getByRole("combobox", { name: "State" }).selectOption("skipped");
    await items.getByText("tone: rude").waitFor({ state: "detached" });
    await items
      .getByRole("row", { name: /Where is Rome.*skipped/ })
      .getByRole("button")
      .click();
    await page.getByRole("heading", { name: "How does it sound?" }).waitFor();
    await page.getByText("Where is Rome?").waitFor();
    await page.keyboard.press("s");
    await page.getByText("was not recorded by this server").waitFor();
    await page.getByRole("navigation", { name: "Breadcrumb" }).getByRole("link", { name: "Queues" }).click();
    await page.getByRole("link", { name: "tone", exact: true }).waitFor();
    const said = (await hone.feedback.query({ project_id }).all()).map((row) => [
      row["feedback_type"],
      row["queue_id"],
      row["payload"],
    ]);
    assert.deepEqual(said, [["annotation.tone", queue_id, { value: "rude" }]]);
    const states = await eventually("the item is given back", async () => {
      const items = await hone.queues.items(queue).all();
      const found = items.map(({ annotation_state: state }) => state);
      return found.includes("in_progress") ? null : found;
    });
    assert.deepEqual(states, ["completed", "skipped", "unstarted"]);
    await close();

    // A second person, with the same API key, also answers the first item, which the first person has already answered.
    const second = await openPage(server, { at: `#/queues?project=${encodeURIComponent(project_id)}` });
    await second.page.getByLabel("Annotate as").fill("bob");
    await second.page.keyboard.press("Enter");
    await second.page.getByRole("link", { name: "tone", exact: true }).click();
    await second.page.getByText("as bob").waitFor();
    await second.page.getByText("Where is Oslo?").waitFor();
    await second.page.keyboard.press("2");
    await second.page.getByRole("heading", { name: "Why?" }).waitFor();
    await second.page.keyboard.press("-");
    await second.page.getByText("Where is Oslo?").waitFor({ state: "detached" });
    // An annotator sees the agreement and the answers of others only as a reviewer.
    await second.page.getByRole("link", { name: "Items" }).click();
    await second.page.getByText("tone: rude bob").waitFor();
    assert.equal(await second.page.getByText("tone: rude").count(), 1);
    await second.page.getByRole("link", { name: "Review everybody's answers" }).click();
    await second.page.getByText("100 %, everybody gave the same answer everywhere").waitFor();
    assert.equal(await second.page.getByText("tone: rude").count(), 2);
    assert.deepEqual(await seriousFaults(second.page), []);
    await second.close();

    const at = `#/queues/${queue_id}?project=${encodeURIComponent(project_id)}`;
    const dark = await openPage(server, { colorScheme: "dark", width: 360, at });
    await dark.page.getByText("was not recorded by this server").waitFor();
    assert.deepEqual(await seriousFaults(dark.page), []);
    assert.equal(await dark.page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0);
    await dark.close();
  },
);

test(
  "a user registers a model, has its answers judged in a new queue, and makes a rule of the judgements",
  inBrowser,
  async () => {
    const { page, close } = await openPage(ofPage(), { at: "#/models" });
    await page.getByRole("button", { name: "New model" }).click();
    await page.getByLabel("Project").fill("local/new");
    await page.getByLabel("Name", { exact: true }).fill("agent");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("link", { name: "Learning" }).click();
    await page.getByRole("button", { name: "Turn on" }).click();
    await answerQuestion(page, "Turn learning on with the default settings?", "Turn learning on");
    await page.getByText(/^On; /).waitFor();
    const modelId = new URL(page.url()).hash.split("/").at(-2) ?? "";
    const hone = new Hone({ baseUrl: ofPage().url, apiKey: ofPage().apiKey });
    const messages = [{ role: "user", content: "Where is Oslo?" }];
    await hone.chat.create({ model: modelId, max_tokens: 4, messages });

    await page.goto(`${ofPage().url}/#/queues?project=local/new`);
    await page.getByRole("button", { name: "New queue" }).click();
    await page.getByLabel("Name", { exact: true }).fill("tone");
    await page.getByLabel("Short name").fill("tone");
    await page.getByRole("group", { name: "Question 1" }).getByRole("combobox").selectOption("choices");
    await page.getByRole("textbox", { name: "Choices" }).fill("kind, rude");
    assert.deepEqual(await seriousFaults(page), []);
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("link", { name: "Annotate" }).click();
    await page.getByText("This queue has no items yet.").waitFor();
    assert.equal(await page.getByText("you answer as").count(), 0);
    assert.deepEqual(await seriousFaults(page), []);
    await page.getByLabel("Add the recorded answers of").fill("new/agent");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByText("1 added").waitFor();
    await page.getByRole("heading", { name: "tone", level: 2 }).waitFor();
    await page.keyboard.press("1");
    await page.getByRole("link", { name: "Items and answers" }).waitFor();
    const finished = page.url();

    await page.goto(`${ofPage().url}/#/train?feedback=${modelId}`);
    await page.getByText("This reward does not read 1 record of the project: annotation.tone (1).").waitFor();
    await page.goto(finished);
    await page.getByText("1 item done").waitFor();
    await page.getByRole("link", { name: "Train on the answers with a reward rule" }).click();
    await page.getByLabel("Model to train").fill("new/agent");
    assert.deepEqual(await seriousFaults(page), []);
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { name: "Data of the job" }).waitFor();
    const [rule] = await hone.rules.list().all();
    assert.deepEqual(
      rule?.terms.map(({ name, rewards }) => ({ name, rewards })),
      [{ name: "tone", rewards: { kind: 1, rude: 0 } }],
    );
    await close();
  },
);
