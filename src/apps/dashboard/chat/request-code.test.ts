import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { chatBody, SettingFault } from "./chat-body.ts";
import { chatSettings } from "./chat-settings.ts";
import { codeLanguages, requestCode } from "./request-code.ts";

const settings = {
  ...chatSettings(new URLSearchParams(), "tiny"),
  topP: "0.5",
  stop: "END\n",
  tools: '[{"type":"function","function":{"name":"find","strict":true,"description":null}}]',
  schema: '{"type":"object"}',
};
const body = chatBody("tiny", [{ role: "user", content: "It's $HOME, isn't it?" }], settings);

test("sends only settings that are not empty, and refuses unreadable ones by name", () => {
  assert.deepEqual(body, {
    model: "tiny",
    messages: [{ role: "user", content: "It's $HOME, isn't it?" }],
    temperature: 1,
    top_p: 0.5,
    max_completion_tokens: 512,
    stop: ["END"],
    tools: [{ type: "function", function: { name: "find", strict: true, description: null } }],
    response_format: { type: "json_schema", json_schema: { name: "answer", schema: { type: "object" } } },
  });
  for (const [fault, message] of [
    [{ tools: "{}" }, /Tools must be a JSON list/],
    [{ schema: "{" }, /The JSON Schema: /],
    [{ seed: "x" }, /seed is x; enter a number/],
  ] as const)
    assert.throws(
      () => chatBody("tiny", [], { ...settings, ...fault }),
      (error) => error instanceof SettingFault && message.test(error.message),
    );
});

test("a shell passes the body of the curl command on unchanged", () => {
  const code = requestCode("curl", "http://localhost/v1", body);
  // Prints the arguments that curl would get, each followed by a NUL character.
  const script = `curl() { printf '%s\\0' "$@"; }\n${code}`;
  const given = execFileSync("sh", ["-c", script], { env: { HONE_API_KEY: "k" }, encoding: "utf8" }).split(
    "\0",
  );
  assert.equal(given[0], "http://localhost/v1/chat/completions");
  assert.equal(given[2], "Authorization: Bearer k");
  assert.deepEqual(JSON.parse(given[6] ?? ""), body);
});

test("writes the same request in each language", () => {
  for (const language of codeLanguages)
    assert.match(requestCode(language, "http://localhost/v1", body), /find/);
  assert.match(requestCode("Python", "x", body), /"strict": True, "description": None/);
  assert.match(requestCode("TypeScript", "x", body), /baseURL: "x"/);
});
