// Tests over HTTP, with the built-in model, those fields of chat requests that no other test covers: each member of a
// constraint, and fields that are accepted but have no effect.
import assert from "node:assert/strict";
import { test } from "node:test";
import { call, serverOfFile } from "./running-server.ts";

const server = serverOfFile();

const messages = [{ role: "user", content: "tell me a story" }];
const plain = { messages, max_tokens: 24, temperature: 0 };

async function answerTo(body: object): Promise<any> {
  const { status, body: answer } = await call(server(), "POST", "/v1/chat/completions", {
    body: { ...plain, ...body },
  });
  assert.equal(status, 200, JSON.stringify(answer));
  return answer;
}

async function textOf(body: object): Promise<string> {
  return (await answerTo(body)).choices[0].message.content as string;
}

/** Sends a body that must be refused. Returns the status, and the field and location in the error. */
async function refusal(body: object): Promise<readonly unknown[]> {
  const { status, body: answer } = await call(server(), "POST", "/v1/chat/completions", {
    body: { ...plain, ...body },
  });
  return [status, answer.error?.param];
}

test("`mm_processor_kwargs` have no effect", async () => {
  assert.equal(await textOf({ mm_processor_kwargs: { num_crops: 4 } }), await textOf({}));
});

test("`structured_outputs.regex`, `structured_outputs.choice`, `structured_outputs.grammar` and `structured_outputs.structural_tag` of `structured_outputs` restrict the answer's text", async () => {
  const held = (constraint: object) => textOf({ structured_outputs: constraint });
  assert.match(await held({ regex: "[a-f]{4}" }), /^[a-f]{4}$/);
  assert.ok(["maybe", "never"].includes(await held({ choice: ["maybe", "never"] })));
  assert.match(await held({ grammar: 'root ::= "x" [0-9] "y"' }), /^x[0-9]y$/);
  const format = { type: "const_string", value: "so be it" };
  assert.equal(
    await held({ structural_tag: JSON.stringify({ type: "structural_tag", format }) }),
    "so be it",
  );
});

const schema = {
  type: "object",
  properties: { size: { type: "integer", minimum: 1, maximum: 9 }, isNew: { type: "boolean" } },
  required: ["size", "isNew"],
};

test("`structured_outputs.json` and `structured_outputs.json_object` restrict the answer to JSON, written as `structured_outputs.disable_any_whitespace`, `structured_outputs.whitespace_pattern` and `structured_outputs.disable_additional_properties` require", async () => {
  const held = (constraint: object) => textOf({ max_tokens: 200, structured_outputs: constraint });
  const tight = { disable_any_whitespace: true, disable_additional_properties: true };
  const written = /^\{"size":[1-9],"isNew":(true|false)\}$/;
  assert.match(await held({ json: schema, ...tight }), written);
  assert.match(await held({ json: JSON.stringify(schema), ...tight }), written);
  const spaced = await held({ json: schema, disable_additional_properties: true, whitespace_pattern: " " });
  assert.match(spaced, / /);
  assert.match(spaced.replaceAll(" ", ""), written);
  const { choices } = await answerTo({
    max_tokens: 400,
    temperature: 1,
    seed: 3,
    structured_outputs: { json_object: true, disable_any_whitespace: true },
  });
  const text = choices[0].message.content as string;
  assert.match(text, /^\{/);
  if (choices[0].finish_reason === "stop") assert.equal(typeof JSON.parse(text), "object");
});

test("`structured_outputs._backend` may name the only backend; it, `structured_outputs._backend_was_auto` and `structured_outputs.disable_fallback` have no effect", async () => {
  const held = (more: object) => textOf({ structured_outputs: { regex: "[a-f]{4}", ...more } });
  const text = await held({});
  assert.equal(await held({ _backend: "auto", _backend_was_auto: true, disable_fallback: true }), text);
  assert.equal(await held({ _backend: "hone" }), text);
  const other = { structured_outputs: { regex: "a", _backend: "other" } };
  assert.deepEqual(await refusal(other), [400, "structured_outputs._backend"]);
});
