// Tests of the annotator's screen and of each key; queue-commands.test.ts tests the commands.
import assert from "node:assert/strict";
import { test } from "node:test";
import { answerKeys, typedAnswer } from "../../client/annotating/answer-keys.ts";
import { AnnotationSession, progressOf } from "../../client/annotating/annotation-session.ts";
import type { AskedQuestion } from "../../client/api.ts";
import { Hone } from "../../client/hone.ts";
import { fetchFrom } from "../../client/testing/fake-fetch.ts";
import { keys } from "../../../api/http/testing/fake-server.ts";
import { project, queueServer, toneQuestion } from "../../../api/http/testing/queue-server.ts";
import { displayWidth } from "../chat/display-width.ts";
import { type AnnotateView, renderAnnotation } from "./annotate-view.ts";
import { readQuestion } from "./question-flags.ts";
import { type Key, keysIn } from "./read-keys.ts";
import { runAnnotation } from "./run-annotation.ts";

test("reads terminal input as keys: letters, named keys, and graphemes of several code points", () => {
  assert.deepEqual(keysIn("1y\r\n"), ["1", "y", "enter", "enter"]);
  assert.deepEqual(keysIn("\u001b[A\u001b[6~\u001b\u007fé👩🏽‍💻\u0003"), [
    "up",
    "page-down",
    "escape",
    "backspace",
    "é",
    "👩🏽‍💻",
    "interrupt",
  ]);
  assert.deepEqual(keysIn("\u001b[99x"), []);
});

test("parses a question given as a flag, with the answers that it allows", () => {
  const read = (text: string): unknown => {
    const { name, text: shown, schema, optional } = readQuestion(text);
    return [name, shown, schema, optional];
  };
  assert.deepEqual(read("tone=kind|rude: How?"), ["tone", "How?", { enum: ["kind", "rude"] }, false]);
  assert.deepEqual(read("right=yes-no"), ["right", "right", { type: "boolean" }, false]);
  assert.deepEqual(read("stars=1..5?"), [
    "stars",
    "stars",
    { type: "integer", minimum: 1, maximum: 5 },
    true,
  ]);
  assert.deepEqual(read("why=text?: Why: say"), ["why", "Why: say", { type: "string" }, true]);
  assert.deepEqual(read("score=number"), ["score", "score", { type: "number" }, false]);
  for (const text of ["tone", "tone=", "=a|b", "tone=kind|", "tone=words"])
    assert.throws(() => readQuestion(text), /write name=a\|b\|c/, text);
});

const asked: AskedQuestion = {
  name: "q",
  text: "Which?",
  optional: false,
  spec_ref: null,
  schema: {},
  kind: "choice",
  choices: null,
  minimum: null,
  maximum: null,
  max_length: null,
};

test("assigns a key to each answer if single keys suffice, otherwise lets answers be typed", () => {
  const keysOf = (question: Partial<AskedQuestion>) =>
    answerKeys({ ...asked, ...question })?.map(({ key, value }) => [key, value]) ?? null;
  assert.deepEqual(keysOf({ choices: ["a", null] }), [
    ["1", "a"],
    ["2", null],
  ]);
  assert.deepEqual(keysOf({ kind: "boolean" }), [
    ["y", true],
    ["n", false],
  ]);
  assert.deepEqual(keysOf({ kind: "integer", minimum: 0, maximum: 2 }), [
    ["0", 0],
    ["1", 1],
    ["2", 2],
  ]);
  assert.equal(keysOf({ choices: Array.from({ length: 10 }, (_, index) => index) }), null);
  assert.equal(keysOf({ kind: "integer", minimum: 1, maximum: 10 }), null);
  assert.equal(keysOf({ kind: "integer", minimum: 1 }), null);
  assert.equal(keysOf({ kind: "text" }), null);
});

test("parses a typed answer by the question's type", () => {
  const choices = ["kind", 7, true];
  assert.deepEqual(typedAnswer({ kind: "choice", choices }, " kind "), { value: "kind" });
  assert.deepEqual(typedAnswer({ kind: "choice", choices }, "2"), { value: 7 });
  assert.deepEqual(typedAnswer({ kind: "choice", choices }, "true"), { value: true });
  assert.ok("fault" in typedAnswer({ kind: "choice", choices }, "4"));
  assert.deepEqual(typedAnswer({ kind: "number", choices: null }, "1e2"), { value: 100 });
  assert.ok("fault" in typedAnswer({ kind: "integer", choices: null }, "many"));
  assert.deepEqual(typedAnswer({ kind: "json", choices: null }, '{"a": 1}'), { value: { a: 1 } });
  assert.deepEqual(typedAnswer({ kind: "json", choices: null }, "plain words"), { value: "plain words" });
  assert.ok("fault" in typedAnswer({ kind: "text", choices: null }, "  "));
});

/** Creates a queue and presses keys in it; `seen` has the view shown after each key. */
async function annotating(queue: object, pressed: string, callCount = 3, annotator = "ann") {
  const server = await queueServer();
  const path = await server.newQueue(queue, callCount);
  const hone = new Hone({
    baseUrl: "http://host",
    apiKey: keys.member,
    fetch: fetchFrom(server.server),
    retries: 0,
  });
  const name = { project_id: project, queue_id: path.split("/").at(-1) ?? "" };
  const session = await AnnotationSession.begin(hone.queues, name, { annotator });
  const seen: AnnotateView[] = [];
  const press = async function* (): AsyncGenerator<Key> {
    yield* keysIn(pressed);
  };
  await runAnnotation({ session, keys: press(), clock: server.clock, show: (view) => void seen.push(view) });
  const stats = (await hone.queues.stats({ project_id: project, queue_ids: [name.queue_id] }))[0];
  const next = await AnnotationSession.begin(hone.queues, name, { annotator });
  const progress = progressOf(next.state);
  await next.leave();
  const feedback = (await hone.feedback.query({ project_id: project }).all()).map((row) => [
    String(row["weave_ref"]).at(-1),
    row["feedback_type"],
    (row["payload"] as { readonly value: unknown }).value,
  ]);
  await server.close();
  return { session, seen, stats, feedback, progress };
}

const three = [
  toneQuestion,
  { name: "right", schema: { type: "boolean" } },
  { name: "why", schema: { type: "string" }, optional: true },
];

test("accepts one key per answer, typed answers ended by enter, and a key that leaves an optional question unanswered", async () => {
  const { session, stats, feedback, progress } = await annotating(
    { questions: three },
    "1n\rToo x\u007flong\r2Y-sq",
  );
  assert.deepEqual(feedback, [
    ["1", "annotation.tone", "kind"],
    ["1", "annotation.right", false],
    ["1", "annotation.why", "Too long"],
    ["2", "annotation.tone", "rude"],
    ["2", "annotation.right", true],
  ]);
  assert.deepEqual([session.state.answeredCount, session.state.skippedCount], [2, 1]);
  assert.deepEqual(stats?.annotators, [{ annotator: "ann", completed: 2, skipped: 1, in_progress: 0 }]);
  // The next session counts what the annotator did in this one.
  assert.deepEqual(progress, { done: 3, skipped: 1, total: 3 });
});

test("undoes the previous answer, then reopens the previous item", async () => {
  // Changes the first answer, completes item 1, and answers one question of item 2. Then undoes that answer, reopens
  // item 1, and answers it again.
  const { feedback, stats } = await annotating({ questions: three.slice(0, 2) }, "1u2y1uu1nq");
  assert.deepEqual(feedback, [
    ["1", "annotation.tone", "kind"],
    ["1", "annotation.right", false],
  ]);
  assert.deepEqual(stats?.annotators, [{ annotator: "ann", completed: 1, skipped: 0, in_progress: 0 }]);
  const skipped = await annotating({}, "su2q");
  assert.deepEqual(skipped.feedback, [["1", "annotation.tone", "rude"]]);
  assert.equal(skipped.stats?.annotators[0]?.skipped, 0);
});

test("releases the leased item when the annotator quits, and ignores unknown keys", async () => {
  const { stats, feedback, seen } = await annotating({}, "x9\u001b[B\u001b[A");
  assert.deepEqual([stats?.annotators, feedback], [[], []]);
  assert.equal(seen.at(-1)?.scrolled, 0);
});

test("allows undo after the last item", async () => {
  const { seen, feedback } = await annotating({}, "11u2q", 2);
  assert.deepEqual(feedback, [
    ["1", "annotation.tone", "kind"],
    ["2", "annotation.tone", "rude"],
  ]);
  const texts = seen.map((view) => renderAnnotation(view, { columns: 80, rows: 24 }).join("\n"));
  const end = texts.find((text) => text.includes("No items left.")) ?? "";
  assert.equal(end.split("\n").filter((line) => /^─+$/.test(line)).length, 1, end);
});

test("shows the server's error message and keeps the item", async () => {
  const { seen, session, feedback } = await annotating(
    { questions: [{ name: "score", schema: { type: "number", maximum: 1 } }] },
    "\r7\r\u007f1\rq",
    1,
  );
  assert.ok(seen.some(({ notice }) => notice?.includes("of at most 1") === true));
  assert.deepEqual(feedback, [["1", "annotation.score", 1]]);
  assert.equal(session.state.answeredCount, 1);
});

test("fits the lines to the terminal's width and rows", async () => {
  const { seen } = await annotating({ questions: three }, "1");
  const [view] = seen;
  assert.ok(view !== undefined && view.state.held !== null);
  const text = "A long answer of many words, and 漢字 that are wide. ".repeat(40);
  const content = {
    messages: [{ role: "user", text }],
    answers: [
      { text: "\u001b[2Jfine", reasoning: "hm", calls: [{ name: "find", arguments: '{"a":1}' }] },
      { text, reasoning: "", calls: [] },
    ],
  };
  const long = { ...view, state: { ...view.state, held: { ...view.state.held, content } } };
  for (const [columns, rows] of [
    [80, 24],
    [40, 12],
    [120, 60],
  ] as const) {
    const lines = renderAnnotation(long, { columns, rows });
    assert.ok(lines.length < rows, `${lines.length} of ${rows}`);
    for (const line of lines) assert.ok(displayWidth(line) < columns, line);
  }
  const all = renderAnnotation(long, { columns: 100, rows: 200 }).join("\n");
  for (const shown of [
    "user",
    "answer 1, thoughts",
    "answer 1 calls find",
    "answer 2",
    "[2Jfine",
    "How does it sound?  (1 of 3)",
    "1 kind   2 rude",
  ])
    assert.ok(all.includes(shown), shown);
  assert.ok(!all.includes("\u001b"));
  const top = renderAnnotation(long, { columns: 80, rows: 24 });
  const scrolled = renderAnnotation({ ...long, scrolled: 5 }, { columns: 80, rows: 24 });
  assert.match(top.join("\n"), /more lines, arrows scroll/);
  assert.notDeepEqual(scrolled, top);
});
