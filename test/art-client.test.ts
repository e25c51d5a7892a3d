// Replays the recorded conversation of a real RL client, from registration to deletion. Replaces recorded ids by those
// of the running server, and checks the parts of each answer that the client reads.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { call, eventually, serverOfFile, type RunningServer } from "./running-server.ts";
import { model } from "./served-jobs.ts";

interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, readonly string[]>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: any;
  readonly answer: any;
}

const recorded: readonly Exchange[] = readFileSync("test/fixtures/recordings/art-full.jsonl", "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Exchange);

/** Maps each recorded value to the corresponding value of the running server. */
type Translation = Map<string, string>;

const server = serverOfFile({ flags: model });

test("a real RL client's conversation succeeds from registration to deletion", () => replay(server()));

async function replay(server: RunningServer): Promise<void> {
  const translation: Translation = new Map();
  const choices: { readonly question: string; readonly choice: unknown }[] = [];
  let replayed = 0;
  for (const exchange of recorded) {
    if (exchange.path.endsWith("/events")) {
      if (translation.has("events followed")) continue;
      translation.set("events followed", "yes");
      await followEvents(server, translate(exchange.path, translation));
      replayed += 1;
      continue;
    }
    const answer = await send(server, exchange, translation, choices);
    assert.equal(answer.status, 200, `${exchange.method} ${exchange.path}: ${JSON.stringify(answer.body)}`);
    checkAnswer(exchange, answer.body, translation, choices);
    replayed += 1;
  }
  assert.ok(replayed > 20, `only ${replayed} exchanges were replayed`);
}

function send(
  server: RunningServer,
  exchange: Exchange,
  translation: Translation,
  choices: readonly { readonly question: string; readonly choice: unknown }[],
) {
  const query = new URLSearchParams(
    Object.entries(exchange.query).flatMap(([name, values]) =>
      values.map((value): [string, string] => [name, value]),
    ),
  );
  const path = translate(exchange.path, translation) + (query.size > 0 ? `?${query.toString()}` : "");
  const body =
    exchange.body === null
      ? undefined
      : withChoices(JSON.parse(translate(JSON.stringify(exchange.body), translation)), choices);
  const headers = Object.fromEntries(
    Object.entries(exchange.headers).filter(
      ([name]) => name.startsWith("x-stainless") || name === "user-agent" || name === "content-type",
    ),
  );
  return call(server, exchange.method, path, { ...(body === undefined ? {} : { body }), headers });
}

/**
 * Replaces the recorded replies in a request with replies of the running server, so that training uses exact tokens.
 */
function withChoices(
  body: any,
  choices: readonly { readonly question: string; readonly choice: unknown }[],
): any {
  const left = [...choices];
  for (const group of body.trajectory_groups ?? []) {
    for (const trajectory of group.trajectories) {
      const [question] = trajectory.messages_and_choices;
      const found = left.findIndex((candidate) => candidate.question === question.content);
      if (found >= 0) trajectory.messages_and_choices[1] = left.splice(found, 1)[0]?.choice;
    }
  }
  return body;
}

function checkAnswer(
  exchange: Exchange,
  body: any,
  translation: Translation,
  choices: { question: string; choice: unknown }[],
): void {
  if (exchange.path === "/v1/preview/models") {
    assert.equal(typeof body.id, "string");
    assert.ok(typeof body.entity === "string" && body.entity !== "");
    assert.equal(
      translation.get(exchange.answer.id) ?? body.id,
      body.id,
      "registering again returns the same model",
    );
    translation.set(exchange.answer.id, body.id);
    translation.set(`"${exchange.answer.entity}"`, `"${body.entity}"`);
    translation.set(`:///${exchange.answer.entity}/`, `:///${body.entity}/`);
  } else if (exchange.path.endsWith("/chat/completions")) {
    checkChat(exchange, body);
    if (translation.size < 4)
      choices.push({ question: exchange.body.messages[0].content, choice: body.choices[0] });
  } else if (exchange.path.endsWith("/training-jobs")) {
    assert.equal(typeof body.id, "string");
    translation.set(exchange.answer.id, body.id);
  } else if (exchange.path.endsWith("/checkpoints") && exchange.method === "GET") {
    const steps = body.data.map((item: any) => item.step);
    assert.deepEqual(
      steps,
      exchange.answer.data.map((item: any) => item.step),
    );
    assert.equal(body.has_more, exchange.answer.has_more);
  } else if (exchange.method === "DELETE" && exchange.path.endsWith("/checkpoints")) {
    assert.deepEqual(body.not_found_steps, []);
  } else if (exchange.path.endsWith("/log")) {
    assert.deepEqual(body.detail, []);
    assert.equal(typeof body.metrics["val/reward"], "number");
  }
}

/** Checks that the answer meets the requirements of the client's strict capture mode. */
function checkChat(exchange: Exchange, body: any): void {
  assert.ok(body.model.startsWith("wandb-artifact:///"), body.model);
  const [choice] = body.choices;
  assert.ok(["stop", "length"].includes(choice.finish_reason));
  assert.equal(choice.message.role, "assistant");
  assert.equal(choice.message.annotations, null);
  assert.ok(choice.token_ids.length > 0 && choice.prompt_token_ids.length > 0);
  assert.equal(choice.logprobs.content.length, choice.token_ids.length);
  choice.logprobs.content.forEach((entry: any, index: number) => {
    assert.equal(entry.token, `token_id:${choice.token_ids[index]}`);
    assert.ok(entry.logprob <= 0);
    assert.deepEqual(entry.top_logprobs, []);
  });
  assert.ok(choice.token_ids.length <= (exchange.body.max_completion_tokens ?? exchange.body.max_tokens));
}

/** Polls events like the client: only gradient steps move the cursor, and values must be numbers. */
async function followEvents(server: RunningServer, path: string): Promise<void> {
  let after: string | null = null;
  let announced: number | null = null;
  const steps = new Set<string>();
  await eventually("training ends", async () => {
    const { status, body } = await call(
      server,
      "GET",
      after === null ? path : `${path}?after=${encodeURIComponent(after)}`,
    );
    assert.equal(status, 200);
    for (const event of body.data) {
      if (event.type === "training_started") {
        assert.equal(
          announced ?? event.data.num_sequences,
          event.data.num_sequences,
          "num_sequences must be invariant",
        );
        announced = event.data.num_sequences;
      } else if (event.type === "gradient_step") {
        assert.notEqual(announced, null, "training_started comes first");
        for (const value of Object.values(event.data)) assert.ok(Number.isFinite(value));
        steps.add(event.id);
        after = event.id;
      } else if (event.type === "training_failed") assert.fail(JSON.stringify(event.data));
      else if (event.type === "training_ended") return true;
    }
    return null;
  });
  assert.equal(steps.size, announced);
}

function translate(text: string, translation: Translation): string {
  let result = text;
  for (const [from, to] of translation) result = result.replaceAll(from, to);
  return result;
}
